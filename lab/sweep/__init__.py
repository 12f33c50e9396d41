"""Many runs: on the cores of this machine or on a cluster, what they need and what they cost."""
