"""Keeping your distance: solving sparse reward tasks using self-balancing shaped rewards (Trott et al. 2019)."""
