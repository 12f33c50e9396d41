"""Random streams: one for each consumer of random numbers."""

import zlib

import numpy as np
import torch

from lab.run.errors import UserError


class Streams:
    """Independent named random streams from one seed, so that no consumer shifts the numbers of another.

    The stream of a name is numpy's SeedSequence([seed, crc32(name)]). Asking for a name twice restarts the same stream,
    so every consumer needs its own name.
    """

    def __init__(self, seed: int) -> None:
        if seed < 0:
            raise UserError(f"seed {seed} is negative; use 0 or more")
        self.seed = seed

    def _sequence(self, name: str) -> np.random.SeedSequence:
        return np.random.SeedSequence([self.seed, zlib.crc32(name.encode())])

    def numpy(self, name: str) -> np.random.Generator:
        """A numpy generator."""
        return np.random.default_rng(self._sequence(name))

    def torch(self, name: str, device: str | torch.device = "cpu") -> torch.Generator:
        """A torch generator on `device`."""
        return torch.Generator(device).manual_seed(self.integer(name))

    def integer(self, name: str) -> int:
        """An integer in [0, 2**31), for env.reset(seed=...) and torch.manual_seed."""
        return int(self._sequence(name).generate_state(1)[0] >> 1)
