"""One run: its settings, random streams, directory, metrics, checkpoints and provenance. A train script knows nothing
else of the lab."""
