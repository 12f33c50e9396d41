"""Train SAC or TD3 on a continuous task with one of four ways to sample from the replay memory.

    .venv/bin/python -m papers.ners.train --env LunarLanderContinuous-v3 --agent sac --method ners --seed 0

All samplers share the agent, the memory and the loop below (`turn`, the paper's Algorithm 1). They differ in which
transitions a batch holds and how its losses are weighted: see samplers.py (RANDOM, PER), ero.py and ners.py.
"""

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import gymnasium
import numpy as np
import torch

from common.replay.storage import Fields, Ring, announce, ring_bytes
from common.twins import fast
from lab.run.cli import cli
from lab.run.errors import UserError
from lab.run.runs import Run, Streams, execute
from lab.run.settings import Count, NotNegative, Positive, Share
from papers.ners.agents.fast_sac import FastSAC
from papers.ners.agents.fast_td3 import FastTD3
from papers.ners.agents.sac import LR as SAC_LR
from papers.ners.agents.sac import SAC
from papers.ners.agents.tasks import make_env
from papers.ners.agents.td3 import LR as TD3_LR
from papers.ners.agents.td3 import TD3
from papers.ners.samplers.batch import Batch, Signals
from papers.ners.samplers.diagnostics import Diagnostics
from papers.ners.samplers.features import Clock, VectorTransitions
from papers.ners.samplers.methods import METHODS, make_sampler
from papers.ners.samplers.samplers import Settings

FAST = {SAC: FastSAC, TD3: FastTD3}
"""Twins that learn in their place on a CPU, see `common/twins.py`."""
AGENTS = ("sac", "td3")
PER_EPSILON = 1e-6
"""Added to PER's priorities."""
STATISTICS_EVERY = 5
"""Evaluations between two rows of scores and of statistics of the draws."""
STARTS = 10_000
"""Seed of the first fixed start for scores; the others count up from it. The same in all runs."""
SAVE_EVERY = 10
"""Evaluations between two checkpoints."""
TICK = 100
"""Steps between two updates of the progress bar."""


@dataclass(frozen=True)
class Config:
    """Every setting of a run. Defaults are the paper's, with the place that states them."""

    env: str = "LunarLanderContinuous-v3"
    """Task: one of those in tasks.py, or the id of any gymnasium task whose states and actions are vectors."""
    method: Literal[METHODS] = "ners"  # type: ignore[valid-type]
    """Sampler: uniform (stratified or independent draws), prioritised, experience replay optimisation, or NERS."""
    agent: Literal[AGENTS] = "sac"  # type: ignore[valid-type]
    """Learner."""
    seed: int = 0
    """Seed of all random streams of the run."""
    steps: Count = 500_000
    """Environment steps (Sec. 3.1)."""
    device: str = "cpu"
    """Where the networks live: cpu or cuda."""

    batch_size: Count = 128
    """Transitions per gradient step (Table B.1)."""
    capacity: Count = 1_000_000
    """Transitions kept (Table B.1)."""
    random_steps: Count = 5_000
    """Environment steps with random actions before learning starts (Table B.1)."""
    gamma: Share = 0.99
    """Discount (Table B.1)."""
    tau: Share = 5e-3
    """Share of the online networks that moves into the target networks per update (Table B.1)."""
    lr: Positive | None = None
    """Adam's step size; None takes 3e-4 for SAC (Table B.1) and 1e-3 for TD3 (Table B.1 prints 5e-3)."""
    action_noise: NotNegative = 0.1
    """TD3: standard deviation of the noise on actions, in units of their bound (Table B.1)."""
    target_noise: NotNegative = 0.2
    """TD3: the same for the actions in targets (Table B.1)."""
    noise_clip: NotNegative = 0.5
    """TD3: bound on the noise in targets (Table B.1)."""
    policy_delay: Count = 2
    """TD3: critic steps per actor step (Table B.1)."""

    eval_every: Count | None = None
    """Environment steps between two evaluations; None takes the task's time limit (App. B)."""
    eval_episodes: Count = 1
    """Episodes per evaluation; the replay reward is computed from their mean return (App. B)."""
    score_starts: Count = 16
    """Fixed starts from which scores are measured, separately from the agent's evaluations. Not in the paper."""
    timeout_terminal: bool = False
    """Store time-outs as terminations, without bootstrapping. The paper does not say; we bootstrap by default."""
    sampling: Settings = field(default_factory=Settings)
    """Settings of the samplers."""

    def check(self) -> None:
        """Raise UserError for incompatible settings."""
        if min(self.capacity, self.random_steps) < self.batch_size:
            raise UserError(
                f"a memory of {self.capacity} transitions, learning from step {self.random_steps} on, is smaller than "
                f"a batch of {self.batch_size}; raise capacity and random_steps or lower batch_size"
            )


def turn(one: "Trainer", *, evaluate: bool = True) -> tuple[bool, dict[str, float]]:
    """One turn of the paper's Algorithm 1, in its order. Returns whether an episode ended, and an evaluation's metrics.

    m is the batch size; n is in the sampler's settings; phi, P and the set I belong to the sampler. evaluate: whether
    to run lines 11-15 when they are due; timing a step and filling a memory for a figure do without.
    """
    over = one.play()  # Algorithm 1, lines 3-4: act, store with priority 1
    if one.t > one.config.random_steps:  # Algorithm 1, line 5: one gradient step per environment step
        slots, weights, _ = one.sampler.sample(one.config.batch_size)  # Algorithm 1, line 6; line 7's weights w
        signals = one.agent.update(one.batch(slots, weights))  # Algorithm 1, line 8
        one.tell(slots, signals)  # Algorithm 1, lines 7 and 9: new scores, which become priorities; I grows by I
    if over:
        one.sampler.episode(one.total)  # for NERS* and ERO this is line 11
    metrics: dict[str, float] = {}
    if evaluate and one.due():  # Algorithm 1, line 11: "at the end of an episode"; the text says at evaluations
        metrics = one.evaluate()
        one.sampler.evaluation(metrics["return"])  # Algorithm 1, lines 12-15: NERS.learn
        metrics |= one.statistics()
    return over, metrics


def replay_fields(env: Any) -> Fields:
    """The fields that the replay memory stores per transition of `env`."""
    n_states, n_actions = env.observation_space.shape[0], env.action_space.shape[0]
    return {
        "state": ((n_states,), np.float32), "action": ((n_actions,), np.float32), "reward": ((), np.float32),
        "next_state": ((n_states,), np.float32), "terminal": ((), np.float32), "time": ((), np.int32),
    }  # fmt: skip


def replay_bytes(config: Config) -> int:
    """Size [bytes] of the full replay memory; a sweep adds up its runs before it starts them."""
    return ring_bytes(config.capacity, replay_fields(make_env(config.env)))


class Trainer:
    """The whole state of a run. Pickled between two episodes, so that an interrupted run can resume."""

    def __init__(self, config: Config):
        c, streams = config, Streams(config.seed)
        self.config = config
        self.t = self.evaluations = self.episodes = 0
        self.env, self.eval_env = make_env(c.env), make_env(c.env)
        spaces: Any = self.env
        n_states, n_actions = spaces.observation_space.shape[0], spaces.action_space.shape[0]
        self.horizon = _horizon(self.env)
        self.eval_every = c.eval_every or self.horizon
        self.starts, self.eval_starts = streams.numpy("starts"), streams.numpy("evaluation")
        self.exploration = streams.numpy("exploration")
        self.agent = self._make_agent(n_states, n_actions, streams.integer("network"))
        fields = replay_fields(self.env)
        announce(c.capacity, fields)
        self.memory = Ring(c.capacity, fields)
        self.diagnostics = Diagnostics(c.capacity)
        clock = Clock(c.sampling.time, self.horizon, self.diagnostics.born)
        transitions = VectorTransitions(self.memory, clock, c.device)
        self.sampler: Any = make_sampler(
            c.method, c.sampling, transitions, capacity=c.capacity, draws=max(c.steps - c.random_steps, 1),
            epsilon=PER_EPSILON, streams=streams, device=c.device,
        )  # fmt: skip
        self.td2 = 0.0
        """Mean squared TD error of the last batch."""
        self.state: np.ndarray | None = None
        """Current state; None between two episodes."""

    def _make_agent(self, n_states: int, n_actions: int, seed: int) -> Any:
        c = self.config
        settings: dict[str, Any] = dict(gamma=c.gamma, tau=c.tau, seed=seed, device=c.device)
        if c.agent == "sac":
            return fast(SAC, FAST, c.device)(n_states, n_actions, lr=c.lr or SAC_LR, **settings)
        settings |= dict(action_noise=c.action_noise, target_noise=c.target_noise, noise_clip=c.noise_clip)
        settings |= dict(lr=c.lr or TD3_LR, policy_delay=c.policy_delay)
        return fast(TD3, FAST, c.device)(n_states, n_actions, **settings)

    # --- one environment step and one gradient step -------------------------------------------------------------------

    def advance(self) -> bool:
        """A turn without an evaluation; True if it ended an episode."""
        return turn(self, evaluate=False)[0]

    def play(self) -> bool:
        """Take and store one environment step; True if it ended an episode."""
        if self.state is None:
            self.state = _state(self.env.reset(seed=int(self.starts.integers(2**31)))[0])
            self.time, self.total = 0, 0.0
        if self.t < self.config.random_steps:
            action = np.float32(self.exploration.uniform(-1.0, 1.0, self.memory["action"].shape[1]))
        else:
            action = self.agent.act(self.state, self.exploration)
        following, reward, terminated, truncated, _ = self.env.step(action)
        following = np.asarray(following, np.float32)
        terminal = terminated or (truncated and self.config.timeout_terminal)
        slot = self.memory.add(
            state=self.state, action=action, reward=reward, next_state=following, terminal=terminal, time=self.time
        )
        self.sampler.add(slot)
        self.diagnostics.added(slot, self.t)
        self.t, self.time, self.total, self.state = self.t + 1, self.time + 1, self.total + float(reward), following
        if over := bool(terminated or truncated):
            self.state, self.episodes = None, self.episodes + 1
        return over

    def tell(self, slots: np.ndarray, signals: Signals) -> None:
        """Pass the sampler the signals of an agent's update on the transitions in `slots`."""
        self.td2 = float(signals.td2.mean())
        if math.isfinite(self.td2):  # otherwise the run stops before anything else uses it
            self.diagnostics.drawn(slots, self.t, signals.td2, signals.q)
            self.sampler.update(slots, {"td_error": signals.td, "target": signals.y})

    def batch(self, slots: np.ndarray, weights: np.ndarray) -> Batch:
        """The transitions in `slots` on the learner's device."""
        m, device = self.memory, self.config.device
        names = ("state", "action", "reward", "next_state", "terminal")
        return Batch(*(torch.from_numpy(array).to(device) for array in (*(m[name][slots] for name in names), weights)))

    # --- evaluation ---------------------------------------------------------------------------------------------------

    def due(self) -> bool:
        """Whether an evaluation is due after this step."""
        return self.t % self.eval_every == 0 or self.t == self.config.steps

    def evaluate(self) -> dict[str, float]:
        """The paper's evaluation, which makes the replay reward: mean return of the policy without noise."""
        self.evaluations += 1
        starts = self.eval_starts.integers(2**31, size=self.config.eval_episodes)
        return {"return": _rounded(float(np.mean([self._rollout(start) for start in starts])))}

    def statistics(self) -> dict[str, float]:
        """Scores and statistics of the draws, at every STATISTICS_EVERY-th evaluation and at the last; else empty."""
        if self.evaluations % STATISTICS_EVERY and self.t < self.config.steps:
            return {}
        metrics = self.scores() | self.diagnostics.report(self.sampler)
        return {name: _rounded(value) for name, value in metrics.items()}

    def scores(self) -> dict[str, float]:
        """Mean return from fixed starts, of the policy without noise.

        It plays no part in training: neither the agent nor its sampler depends on it.
        """
        starts = range(STARTS, STARTS + self.config.score_starts)
        return {"score": float(np.mean([self._rollout(start) for start in starts]))}

    def _rollout(self, start: int) -> float:
        state, total, over = _state(self.eval_env.reset(seed=int(start))[0]), 0.0, False
        while not over:
            state, reward, terminated, truncated, _ = self.eval_env.step(self.agent.act(state, None))
            state, total, over = _state(state), total + float(reward), terminated or truncated
        return total

    # --- pickling -----------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        if self.state is not None:
            raise RuntimeError("a trainer is pickled between two episodes: the simulator's state is not kept")
        return {name: value for name, value in self.__dict__.items() if name not in ("env", "eval_env")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.env, self.eval_env = make_env(self.config.env), make_env(self.config.env)


def _state(observation: Any) -> np.ndarray:
    return np.asarray(observation, np.float32)


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")


def _horizon(env: gymnasium.Env) -> int:
    assert env.spec is not None and env.spec.max_episode_steps is not None  # make_env has checked it
    return env.spec.max_episode_steps


def train(run: Run, trainer: Trainer) -> dict:
    """Train to the end; returns the last evaluation."""
    save_due = False
    while trainer.t < trainer.config.steps:  # Algorithm 1, line 2
        over, metrics = turn(trainer)
        run.check_finite(trainer.t, td2=trainer.td2)
        if trainer.t % TICK == 0:
            run.tick(trainer.t)
        if metrics:
            run.log(trainer.t, metrics)
            save_due = save_due or trainer.evaluations % SAVE_EVERY == 0
        if save_due and over:
            run.save(trainer)
            save_due = False
    return run.finish({"steps": trainer.t, **run.last}, weights=trainer.agent.weights())


def main(config: Config, run_dir: Path, **options: Any) -> dict:
    """Train in ``run_dir``, or resume there; returns the summary. See `lab.run.runs.execute`."""
    return execute(config, run_dir, train, Trainer, **options)


if __name__ == "__main__":
    cli(Config, main, __doc__)
