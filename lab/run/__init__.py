"""One run: its settings, random streams, directory, metrics, checkpoints and provenance. A train script uses nothing
else from the lab."""
