"""Sweeps: many runs on this machine's cores or on a cluster, what they need and what they cost."""
