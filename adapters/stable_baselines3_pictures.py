"""Pictures in Stable-Baselines3 that fit into memory: a million of 84x84x3 with their successors take 42 GB.

`FrameReplayBuffer` keeps each frame once, however many stacks and observations repeat it: an eighth for stacks of four.
`Drawn` goes further if pictures are made of tiles: the environment gives codes, the memory keeps codes, and the network
draws what it sees.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.preprocessing import is_image_space, is_image_space_channels_first
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor, NatureCNN

from adapters.stable_baselines3 import SampledReplayBuffer
from common.pixels import SymbolicPixels


class Frames:
    """The channels of all stored pictures. A channel that repeats from the picture before is kept once."""

    def __init__(self, lanes: int, axis: int):
        self.axis = axis
        self.held: dict[int, np.ndarray] = {}
        self.users: dict[int, int] = {}
        self.seen = 0
        self.recent: list[list[int]] = [[] for _ in range(lanes)]
        """Numbers of the channels of the last picture in each lane."""

    def take(self, lane: int, picture: np.ndarray) -> list[int]:
        """Keep a picture; return the numbers of its channels."""
        numbers: list[int] = []
        for channel in np.moveaxis(picture, self.axis, 0):
            near = [k for k in (*self.recent[lane], *numbers) if k in self.held]
            number = next((k for k in near if np.array_equal(self.held[k], channel)), self.seen)
            if number == self.seen:
                self.held[number], self.users[number], self.seen = channel.copy(), 0, self.seen + 1
            self.users[number] += 1
            numbers.append(number)
        self.recent[lane] = numbers
        return numbers

    def drop(self, numbers: np.ndarray) -> None:
        """Forget the channels of a picture that has been overwritten."""
        for number in map(int, numbers):
            self.users[number] -= 1
            if not self.users[number]:
                del self.held[number], self.users[number]


class Pictures:
    """A column [rows, lanes] of pictures, read and written like an array."""

    def __init__(self, frames: Frames, shape: tuple[int, int], channels: int):
        self.frames, self.numbers = frames, np.full((*shape, channels), -1)

    def __setitem__(self, row: int, pictures: np.ndarray) -> None:
        old = self.numbers[row].copy()
        self.numbers[row] = [self.frames.take(lane, picture) for lane, picture in enumerate(pictures)]
        self.frames.drop(old[old >= 0])

    def __getitem__(self, place: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        numbers = self.numbers[place]
        found = np.stack([self.frames.held[number] for number in numbers.ravel().tolist()])
        return np.moveaxis(found.reshape(*numbers.shape, *found.shape[1:]), 1, 1 + self.frames.axis)


class FrameReplayBuffer(SampledReplayBuffer):
    """`SampledReplayBuffer` for pictures, uint8 [channels, height, width] or [height, width, channels]."""

    def _columns(self, shape: tuple[int, int]) -> tuple[Any, Any]:
        space: Any = self.observation_space
        if not is_image_space(space):
            raise ValueError(f"FrameReplayBuffer is for pictures (uint8, 0 to 255, three axes), not for {space}")
        frames = Frames(self.lanes, axis := 0 if is_image_space_channels_first(space) else 2)
        return tuple(Pictures(frames, shape, space.shape[axis]) for _ in range(2))  # type: ignore[return-value]


class Drawn(BaseFeaturesExtractor):
    """Draws tile codes, uint8 [rows, columns], and looks at the picture with the network of `CnnPolicy`.

    tiles: pictures of the codes, uint8 [codes, tile, tile, 3], such as the environment's `tiles`. size: side of the
    picture.

        SampledDQN("MlpPolicy", env, policy_kwargs=dict(
            features_extractor_class=Drawn, features_extractor_kwargs=dict(tiles=env.unwrapped.tiles)))
    """

    def __init__(self, observation_space: spaces.Box, tiles: np.ndarray, size: int = 84, features_dim: int = 512):
        super().__init__(observation_space, features_dim)
        self.tiles, self.grid, self.size = tiles, observation_space.shape, size
        self.pixels: SymbolicPixels | None = None
        self.network = NatureCNN(spaces.Box(0, 1, (3, size, size)), features_dim, normalized_image=True)

    def forward(self, codes: torch.Tensor) -> torch.Tensor:
        if self.pixels is None or self.pixels.device != codes.device:
            self.pixels = SymbolicPixels(self.tiles, self.grid, self.size, str(codes.device))  # type: ignore[arg-type]
        return self.network(self.pixels.draw(codes.cpu().numpy().astype(np.uint8)))
