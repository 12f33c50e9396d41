"""Bias-reduced hindsight experience replay with virtual goal prioritization (Manela and Biess 2021)."""
