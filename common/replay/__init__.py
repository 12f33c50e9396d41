"""Replay in three small pieces: storage keeps transitions, a sampler chooses them, a relabeller changes their goal."""
