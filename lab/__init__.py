"""Runs, sweeps, results, statistics, figures and claims: the lab that every paper uses."""
