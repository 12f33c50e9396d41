"""The settings that all worlds share: of a run and its learner, of worlds made of tiles, of the replay methods.

Defaults are the paper's, with the place where it states them.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

from lab.run.errors import UserError
from lab.run.settings import Count, Natural, Positive, Range, Share

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
    steps: Count = 1_000_000
    """Environment steps."""
    device: str = "cpu"
    """Where the networks live: cpu or cuda."""

    batch_size: Count = 32
    """Transitions per gradient step (App. B.1)."""
    lr: Positive = 3e-4
    """Adam's step size (App. B.1)."""
    gamma: Share = 0.99
    """Discount. Not in the paper; the released code has 0.99."""
    huber_delta: Positive = 1.0
    """Error at which the Huber loss bends from a parabola into a line. The paper names no loss; the released code has
    the smooth L1 loss, which bends at 1."""
    update_every: Count = 4
    """Environment steps between two visits of the learner (App. B.1)."""
    replay_ratio: Positive = 0.25
    """Gradient steps per environment step (Sec. 5.4: 0.25, 1 or 2)."""
    target_interval: Count = 10_000
    """Environment steps between two copies into the target network (App. B.1)."""
    capacity: Count = 1_000_000
    """Transitions kept (App. B.1)."""
    warmup: Count = 50_000
    """Environment steps before the first update (App. B.1). Actions are epsilon-greedy then, too, as in the released
    code; App. B.1 says random."""
    epsilon_end: Share = 0.01
    """Last share of random actions (App. B.1)."""
    epsilon_steps: Count = 1_000_000
    """Environment steps over which that share falls from 1, counted from the first step (App. B.1)."""
    timeout_is_done: bool = False
    """Treat a time-out like a terminal state in the targets, as the released code does. Sec. 3 ends values at completed
    tasks only."""

    eval_every: Count = 100_000
    """Environment steps between two evaluations. Not in the paper."""
    eval_episodes: Count = 100
    """Episodes per evaluation (App. C)."""
    eval_noise: Share = 0.05
    """Share of random actions during evaluation (App. C)."""

    def check(self) -> None:
        """Raise UserError for settings that cannot work together."""
        if min(self.capacity, self.warmup) < self.batch_size:
            raise UserError(f"capacity and warmup must hold at least one batch of {self.batch_size}")
        updates = self.replay_ratio * self.update_every
        if round(updates) < 1 or abs(updates - round(updates)) > 1e-9:  # 0.07 * 100 is 7.000000000000001
            raise UserError(f"replay_ratio * update_every must be whole, not {updates:g}")


@dataclass(frozen=True)
class TileSettings(Settings):
    """Settings of the worlds made of tiles."""

    network: Literal["nature", "codes"] = "nature"
    """The paper's network on pictures (App. B.1), or a small one on tile codes."""
    widths: tuple[int, int, int] = (16, 32, 128)
    """Of the small network: channels of its two convolutions, units of its hidden layer."""
    scale_output: bool = False
    """Multiply the networks' output by the largest return, for short runs. The paper's networks have plain outputs."""
    levels: Natural = 0
    """Levels of training, drawn before it; 0 for new ones at every reset, as in the paper."""

    def check(self) -> None:
        super().check()
        if min(self.widths) < 1:
            raise UserError(f"widths must be at least 1, not {min(self.widths)}")


@dataclass(frozen=True)
class ReplaySettings:
    """Settings of the replay methods. Defaults are the paper's, with the place where it states them."""

    per_alpha: Share = 0.6
    """PER: exponent of priorities, for per and for ter's mixed-in share (App. B.2)."""
    per_beta: Share = 0.4
    """PER: first exponent of the importance weights; almost 1 at the end of training, as in the released code (it
    does not rise during the warm-up); App. B.2 says after a quarter of it."""
    per_beta_steps: Count | None = None
    """PER: environment steps over which beta rises to 1; None: the whole run."""
    per_clip: Positive | None = 1.0
    """PER: largest |TD error| that counts in a priority, as in pfrl, which App. B.2 uses; None for no limit."""
    eta: Share = 0.1
    """TER: share of a batch that prioritised replay supplies (App. B.5, for Sokoban; Sec. 5.1 has 0.2 there). For Atari
    the paper does not say."""
    roots: Count = 8
    """TER: terminal vertices that a sweep starts from (App. B.5)."""
    predecessors: Count = 3
    """TER: predecessors expanded per vertex (App. B.5). The scripts released for MiniGrid have 1."""
    projection_dim: Count = 3
    """TER: d, length of the projected state (App. B.5)."""
    ebu_beta: Share = 0.5
    """EBU: diffusion factor (App. B.3)."""
    ebu_double: bool = True
    """EBU: double DQN, as App. B.1 has it for all; the released code takes the target network's largest value."""
    ebu_timeouts: bool = True
    """EBU: also replay episodes that ran out of time (App. J)."""
    ebu_drop_first: Natural = 0
    """EBU: transitions never replayed at the start of each episode. Not in the paper; the released code drops 3."""
    ebu_per_share: Annotated[float, Range("lie in [0, 1)", lambda value: 0 <= value < 1)] = 0.0
    """EBU: share of a batch that prioritised replay supplies (App. I: TER's eta)."""
    discor_tau: Positive = 10.0
    """DisCor: first temperature (App. B.4)."""
    discor_released: bool = False
    """DisCor: bootstrap the error as the code released with the paper does, without a target network and by the largest
    error of all actions. False: as DisCor's own paper has it."""
