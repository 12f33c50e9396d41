"""DreamerV2 (Hafner et al. 2021) on this paper's tasks, by sheeprl; train_dreamer.py runs it in another environment.

    .venv-dreamer/bin/python -m papers.ter.agents.dreamer '{"env": "SimpleCrossing-Easy", "seed": 0, ...}'

Prints a line per episode of training: "episode <steps so far> <return> <1 where the task was solved>".
"""

import json
import sys
from typing import Any

import gymnasium
import numpy as np

from envs.minigrid.tasks import MiniGridTask
from envs.sokoban.game import BOX_REWARD, SOLVED_REWARD, Sokoban
from lab.run.runs import Streams
from papers.ter.worlds.sokoban import TASKS as SOKOBAN

SIZES: dict[str, dict[str, int]] = {
    "paper": {},
    "small": {
        "algo.dense_units": 128,
        "algo.mlp_layers": 2,
        "algo.world_model.encoder.cnn_channels_multiplier": 8,
        "algo.world_model.recurrent_model.recurrent_state_size": 128,
        "algo.world_model.transition_model.hidden_size": 128,
        "algo.world_model.representation_model.hidden_size": 128,
        "algo.world_model.discrete_size": 16,
        "algo.world_model.stochastic_size": 16,
    },
}
"""What differs from sheeprl's sizes, which are those of DreamerV2 on Atari."""


def task_of(name: str) -> tuple[gymnasium.Env, float]:
    """A task of MiniGrid or Sokoban, and R_max, the largest return that its normalised return stands for."""
    if name in SOKOBAN:
        size, boxes = SOKOBAN[name]
        return Sokoban((size, size), boxes), SOLVED_REWARD + BOX_REWARD * boxes
    task = MiniGridTask(name)
    return task, float(task.max_steps)


class Told(gymnasium.Wrapper):
    """The task as sheeprl takes it, a dictionary of pictures; rewards are divided by R_max, episodes printed.

    Levels are those that the other methods are trained on (train.py): `levels` fixed ones, or new ones where that is 0.
    """

    def __init__(self, env: gymnasium.Env, largest: float, seed: int, levels: int):
        super().__init__(env)
        self.largest, self.steps, self.total = largest, 0, 0.0
        known, self.level_stream = (Streams(seed).numpy(name) for name in ("known levels", "levels"))
        self.known = [2 * int(known.integers(2**31)) for _ in range(levels)]
        self.observation_space = gymnasium.spaces.Dict({"rgb": env.observation_space})

    def reset(self, **_: Any):
        self.total = 0.0
        if self.known:
            level = self.known[self.level_stream.integers(len(self.known))]
        else:
            level = 2 * int(self.level_stream.integers(2**31))
        return {"rgb": self.env.reset(seed=level)[0]}, {}

    def step(self, action: Any):
        observation, reward, terminated, truncated, info = self.env.step(int(np.asarray(action).reshape(-1)[0]))
        self.steps, self.total = self.steps + 1, self.total + float(reward)
        if terminated or truncated:
            print("episode", self.steps, self.total, int(info["success"]), flush=True)
        return {"rgb": observation}, float(reward) / self.largest, terminated, truncated, {}


def make(id: str, seed: int, levels: int, render_mode: str | None = None) -> Told:
    """What sheeprl calls to make an environment."""
    return Told(*task_of(id), seed, levels)


def overrides(c: dict[str, Any]) -> list[str]:
    """sheeprl's command line for the settings of train_dreamer.Config."""
    chosen: dict[str, Any] = {
        "exp": "dreamer_v2", "env": "gym", "env.id": c["env"], "env.wrapper._target_": "papers.ter.agents.dreamer.make",
        "+env.wrapper.seed": c["seed"], "+env.wrapper.levels": c["levels"],
        "env.num_envs": 1, "env.sync_env": True, "env.capture_video": False, "seed": c["seed"],
        "algo.total_steps": c["steps"], "algo.learning_starts": c["learning_starts"],
        "algo.replay_ratio": c["replay_ratio"],
        "algo.per_rank_pretrain_steps": c["pretrain"], "algo.per_rank_batch_size": c["batch_size"],
        "algo.per_rank_sequence_length": c["sequence"], "algo.gamma": c["gamma"],
        "algo.world_model.use_continues": True, "algo.run_test": False, "buffer.size": c["capacity"],
        "buffer.memmap": False, "buffer.checkpoint": False, "checkpoint.every": 0, "checkpoint.save_last": False,
        "metric.log_level": 0, "metric.disable_timer": True, "fabric.accelerator": c["accelerator"],
        "log_root": ".", "hydra.run.dir": ".",
    }  # fmt: skip
    return [f"{name}={value}" for name, value in (chosen | SIZES[c["size"]]).items()]


if __name__ == "__main__":
    from sheeprl.cli import run

    sys.argv[1:] = overrides(json.loads(sys.argv[1]))
    run()
