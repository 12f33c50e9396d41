"""Neural experience replay sampler (Oh et al., ICLR 2021)."""
