"""Topological Experience Replay (Hong et al., ICLR 2022)."""
