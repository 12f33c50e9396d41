"""The lab that all papers share: runs, sweeps, results, statistics, figures and claims."""
