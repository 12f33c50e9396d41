"""Networks for the construction task (App. F): a 3D convolution for cuboids, another convolution for the agent's view.

All sizes are here, as the paper states none. A cell enters as the one-hot code of its material: a learned lookup of
four numbers before the first convolution, which is linear, could express no more. A cuboid's layers enter as planes of
a 2D convolution, which is a 3D one whose kernel is as high as the cuboid.
"""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from envs.voxel.build import VoxelBuild
from envs.voxel.kernels import MATERIALS
from papers.sibling_rivalry.construction.task import SeeingBuild

FILTERS = 32
"""Of both convolutions of the cuboids, 3 x 3 each."""
HIDDEN = 128
EYE_FILTERS, EYE_FEATURES = (16, 32), 64
"""Of the picture's two convolutions, 4 x 4 with stride 4 and 3 x 3 with stride 2; and of the output."""


class Eye(nn.Module):
    """The shallow encoder of the agent's view, shared by policy and value: [n, d] -> [n, EYE_FEATURES]."""

    def __init__(self, task: SeeingBuild):
        super().__init__()
        self.part, self.shape = task.parts["picture"], task.picture_shape
        rows, columns, planes = self.shape
        first, second = EYE_FILTERS
        self.convolutions = nn.Sequential(
            nn.Conv2d(planes, first, 4, stride=4), nn.ReLU(), nn.Conv2d(first, second, 3, stride=2, padding=1),
            nn.ReLU(), nn.Flatten(),
        )  # fmt: skip
        with torch.no_grad():
            features = self.convolutions(torch.zeros(1, planes, rows, columns)).shape[1]
        self.out = nn.Sequential(nn.Linear(features, EYE_FEATURES), nn.ReLU())

    def forward(self, observations: Tensor) -> Tensor:
        pictures = observations[:, self.part].unflatten(1, self.shape)
        return self.out(self.convolutions(pictures.permute(0, 3, 1, 2)))


class Cuboids(nn.Module):
    """Maps an observation and `goals` further cuboids, the goal and for a critic the anti-goal, to `n_outputs` numbers.

    The body of policy and value, which share only the eye.
    """

    kinds: Tensor
    """Values that a cell is compared with: materials, or marks, of which there are as many."""

    def __init__(self, task: VoxelBuild, goals: int, n_outputs: int):
        super().__init__()
        size, self.pose = task.size, task.parts["pose"]
        self.planes, self.size = (2 + goals) * task.height, size  # including those of marks
        self.register_buffer("kinds", torch.arange(1.0, MATERIALS + 1), persistent=False)
        channels = self.planes * MATERIALS
        self.convolutions = nn.Sequential(
            nn.Conv2d(channels, FILTERS, 3, padding=1), nn.ReLU(), nn.Conv2d(FILTERS, FILTERS, 3, padding=1), nn.ReLU()
        ).to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # faster convolutions
        self.of_cuboids = nn.Linear(FILTERS * size * size, HIDDEN)
        self.of_pose = nn.Linear(len(range(task.observation_shape[0])[self.pose]), HIDDEN)
        self.of_eye = nn.Linear(EYE_FEATURES, HIDDEN, bias=False) if isinstance(task, SeeingBuild) else None
        self.out = nn.Linear(HIDDEN, n_outputs)

    def forward(self, observations: Tensor, *goals: Tensor, seen: Tensor | None = None) -> Tensor:
        """observations: float32 [n, d]; goals: [n, cells] each; seen: the eye's features. Returns [n, n_outputs]."""
        cuboids = torch.cat([observations[:, : self.pose.start], *goals], dim=1)
        cells = cuboids.view(-1, self.planes, self.size, self.size).permute(0, 2, 3, 1)
        one_hot = (cells[..., None] == self.kinds).float().flatten(3).permute(0, 3, 1, 2)  # as channels_last has it
        maps = self.convolutions(one_hot).permute(0, 2, 3, 1).flatten(1)
        hidden = self.of_cuboids(maps) + self.of_pose(observations[:, self.pose])
        if self.of_eye is not None:
            hidden = hidden + self.of_eye(seen)
        return self.out(F.relu(hidden))


class BuildPolicy(nn.Module):
    """A softmax over the actions; includes the eye."""

    def __init__(self, task: VoxelBuild):
        super().__init__()
        self.eye = Eye(task) if isinstance(task, SeeingBuild) else None
        self.body = Cuboids(task, 1, task.n_actions)

    def see(self, observations: Tensor) -> Tensor | None:
        """The eye's features [n, EYE_FEATURES]; None without an eye."""
        return None if self.eye is None else self.eye(observations)

    def log_probs(self, observations: Tensor, goals: Tensor, seen: Tensor | None) -> Tensor:
        """Logarithms of all actions' probabilities, float32 [n, A]."""
        return F.log_softmax(self.body(observations, goals, seen=seen), dim=1)

    @torch.no_grad()
    def weights(self) -> np.ndarray:
        """All parameters, concatenated: float32 [p]."""
        return torch.cat([parameter.flatten() for parameter in self.parameters()]).cpu().numpy()

    @torch.no_grad()
    def load(self, weights: np.ndarray) -> None:
        """Load the `weights` of another policy for the same task."""
        parts = torch.from_numpy(weights.copy()).split([parameter.numel() for parameter in self.parameters()])
        for parameter, part in zip(self.parameters(), parts, strict=True):
            parameter.copy_(part.view(parameter.shape))  # in place: keeps its memory layout

    @torch.no_grad()
    def act(
        self, observations: np.ndarray, goals: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Actions int64 [n] drawn with `rng`, and the logarithms float32 [n] of their probabilities. On the CPU."""
        inputs = torch.from_numpy(observations), torch.from_numpy(goals)
        log_probs = self.log_probs(*inputs, self.see(inputs[0])).numpy()
        actions = (log_probs + rng.gumbel(size=log_probs.shape)).argmax(axis=1)  # a draw from the softmax
        return actions, log_probs[np.arange(len(actions)), actions]
