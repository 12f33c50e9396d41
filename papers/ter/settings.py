"""The settings that all worlds share: of a run and its learner, of worlds made of tiles, of the replay methods.

Defaults are the paper's, with the place where it states them.
"""

from dataclasses import dataclass
from typing import Any, Literal

from lab.errors import UserError
from lab.settings import check_settings

METHODS = ("uer", "per", "ebu", "discor", "ter")


@dataclass(frozen=True)
class Settings:
    """Of the run and of the learner."""

    env: str = ""
    """Task."""
    method: Literal[METHODS] = "ter"  # type: ignore[valid-type]
    """Replay method: uniform, prioritised, episodic backward update, DisCor, topological."""
    seed: int = 0
    """Seed of all random streams of the run."""
    steps: int = 1_000_000
    """Environment steps."""
    device: str = "cpu"
    """Where the networks live: cpu or cuda."""

    batch_size: int = 32
    """Transitions per gradient step (App. B.1)."""
    lr: float = 3e-4
    """Adam's step size (App. B.1)."""
    gamma: float = 0.99
    """Discount. Not in the paper; the released code has 0.99."""
    update_every: int = 4
    """Environment steps between two visits of the learner (App. B.1)."""
    replay_ratio: float = 0.25
    """Gradient steps per environment step (Sec. 5.4: 0.25, 1 or 2)."""
    target_interval: int = 10_000
    """Environment steps between two copies into the target network (App. B.1)."""
    capacity: int = 1_000_000
    """Transitions kept (App. B.1)."""
    warmup: int = 50_000
    """Environment steps before the first update (App. B.1). Actions are epsilon-greedy then, too, as in the released
    code; App. B.1 says random."""
    epsilon_end: float = 0.01
    """Last share of random actions (App. B.1)."""
    epsilon_steps: int = 1_000_000
    """Environment steps over which that share falls from 1, counted from the first step (App. B.1)."""
    timeout_is_done: bool = False
    """Treat a time-out like a terminal state in the targets, as the released code does. Sec. 3 ends values at completed
    tasks only."""

    eval_every: int = 100_000
    """Environment steps between two evaluations. Not in the paper."""
    eval_episodes: int = 100
    """Episodes per evaluation (App. C)."""
    eval_noise: float = 0.05
    """Share of random actions during evaluation (App. C)."""


@dataclass(frozen=True)
class TileSettings(Settings):
    """Settings of the worlds made of tiles."""

    network: Literal["nature", "codes"] = "nature"
    """The paper's network on pictures (App. B.1), or a small one on tile codes."""
    scale_output: bool = False
    """Multiply the networks' output by the largest return, for short runs. The paper's networks have plain outputs."""
    levels: int = 0
    """Levels of training, drawn before it; 0 for new ones at every reset, as in the paper."""


@dataclass(frozen=True)
class ReplaySettings:
    """Settings of the replay methods. Defaults are the paper's, with the place where it states them."""

    per_alpha: float = 0.6
    """PER: exponent of priorities, for per and for ter's mixed-in share (App. B.2)."""
    per_beta: float = 0.4
    """PER: first exponent of the importance weights; almost 1 at the end of training, as in the released code (it
    does not rise during the warm-up); App. B.2 says after a quarter of it."""
    per_beta_steps: int | None = None
    """PER: environment steps after which it does; None for the length of the run."""
    per_clip: float | None = 1.0
    """PER: largest |TD error| that counts in a priority, as in pfrl, which App. B.2 uses; None for no limit."""
    eta: float = 0.1
    """TER: share of a batch that prioritised replay supplies (App. B.5, for Sokoban; Sec. 5.1 has 0.2 there). For Atari
    the paper does not say."""
    roots: int = 8
    """TER: terminal vertices that a sweep starts from (App. B.5)."""
    predecessors: int = 3
    """TER: predecessors expanded per vertex (App. B.5). The scripts released for MiniGrid have 1."""
    projection_dim: int = 3
    """TER: d, length of the projected state (App. B.5)."""
    ebu_beta: float = 0.5
    """EBU: diffusion factor (App. B.3)."""
    ebu_double: bool = True
    """EBU: double DQN, as App. B.1 has it for all; the released code takes the target network's largest value."""
    ebu_timeouts: bool = True
    """EBU: also replay episodes that ran out of time (App. J)."""
    ebu_drop_first: int = 0
    """EBU: transitions never replayed at the start of each episode. Not in the paper; the released code drops 3."""
    ebu_per_share: float = 0.0
    """EBU: share of a batch that prioritised replay supplies (App. I: TER's eta)."""
    discor_tau: float = 10.0
    """DisCor: first temperature (App. B.4)."""
    discor_released: bool = False
    """DisCor: bootstrap the error as the code released with the paper does, without a target network and by the largest
    error of all actions. False: as DisCor's own paper has it."""


def check_shared(config: Any) -> None:
    """Raise UserError for settings that cannot work in any world."""
    check_settings(
        config,
        at_least_1=("steps", "batch_size", "update_every", "target_interval", "epsilon_steps", "eval_every",
                    "eval_episodes", "roots", "predecessors", "projection_dim", "per_beta_steps"),
        positive=("lr", "replay_ratio", "discor_tau"),
        in_0_1=("eta", "ebu_beta", "ebu_per_share", "eval_noise", "epsilon_end"),
    )  # fmt: skip
    if config.ebu_per_share == 1:
        raise UserError("ebu_per_share must be below 1: with 1 nothing is left of EBU; use --method per")
    if config.capacity < config.batch_size or config.warmup < config.batch_size:
        raise UserError(f"capacity and warmup must hold at least one batch of {config.batch_size}")
    if round(config.replay_ratio * config.update_every) != config.replay_ratio * config.update_every:
        raise UserError(f"replay_ratio * update_every must be whole, not {config.replay_ratio * config.update_every}")
