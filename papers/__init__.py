"""One room per paper; no room imports another."""
