"""The bias of hindsight where the truth is known: bit flipping with a useless action (Sec. 3.2.1).

    .venv/bin/python -m papers.bias_reduced_her.train_bitflip --env BitFlip-10-timeout --method her --seed 0

A Q-network learns to turn n bits into n others; one more action leaves the bits alone and ends the game. The true value
of every action can be computed (envs/bitflip.py); the network's bias is its own value minus the true one. Hindsight,
memory, prioritised replay and settings are those of train.py, with a DQN in place of DDPG.

Env: BitFlip-<n> is the plain task; BitFlip-<n>-terminal and BitFlip-<n>-timeout have the action, see envs/bitflip.py.

For this action hindsight stores nothing but successes: the bits do not change, so the virtual goal is always the state
itself. No episode ever acts in such a state. A table would therefore be unbiased in every value that is ever used; a
network is biased where it confuses other goals with that one.
"""

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import torch

from common.replay.samplers import PrioritizedSampler
from common.replay.storage import Fields, Ring, announce, ring_bytes
from envs.bitflip import BitFlip, Quit, exact_values
from lab.run.cli import cli
from lab.run.errors import UserError
from lab.run.runs import Run, Streams, execute
from lab.run.settings import Count, Positive, Range, Share
from papers.bias_reduced_her.agents.ddpg import Batch
from papers.bias_reduced_her.agents.dqn import DQN
from papers.bias_reduced_her.hindsight import Hindsight

MAX_BITS = 30
PAIRS = 200
"""Pairs of bits and goal at each distance, for which values are compared."""
SAVE_EVERY = 10
"""Epochs between two checkpoints."""


@dataclass(frozen=True)
class Config:
    """Settings of a run. The paper trains nothing on this task (Sec. 3.2.1) and names no settings for it: defaults are
    those of train.py, except for epochs, cycles, episodes, tau and eval_episodes."""

    env: str = "BitFlip-10-timeout"
    """BitFlip-<n>, BitFlip-<n>-terminal or BitFlip-<n>-timeout."""
    method: Literal["none", "her", "filtered-her"] = "filtered-her"
    """Kind of hindsight; none: real goals only."""
    seed: int = 0
    """Seed of all random streams of the run."""
    epochs: Count = 60
    """Training length in epochs; by then exploration has reached its smallest value."""

    cycles: Count = 20
    """Training cycles per epoch; fewer than train.py's 50, so that these epochs take half a minute."""
    episodes: Count = 4
    """Episodes per cycle; fewer than train.py's 16, for the same reason."""
    updates: Count = 40
    """Gradient steps per cycle."""
    batch_size: Count = 64
    """Transitions per gradient step."""
    capacity: Count = 1_000_000
    """Transitions kept, virtual ones included."""

    gamma: Annotated[float, Range("lie in (0, 1)", lambda value: 0 < value < 1)] = 0.98
    """Discount."""
    lr: Positive = 1e-3
    """Adam's step size."""
    clip: Positive = 3.0
    """Largest gradient norm (L2)."""
    tau: Share = 0.05
    """Share of the way that the target network moves to the online one, per update (train.py: per cycle)."""
    epsilon: Share = 1.0
    """Initial probability of a random action."""
    epsilon_decay: Share = 0.95
    """Factor on epsilon at the start of every epoch but the first."""
    epsilon_end: Share = 0.05
    """Smallest epsilon."""

    k: Count = 4
    """Virtual goals drawn per transition, strategy `future`."""
    per_alpha: Share = 0.6
    """Exponent of priorities."""
    per_beta: Share = 0.4
    """Initial exponent of the importance weights, 1 at the end of training."""
    eval_episodes: Count = 200
    """Greedy episodes per evaluation, one evaluation per epoch."""

    def check(self) -> None:
        """Raise UserError for settings that cannot work together."""
        least = max((1 + self.k) * task(self)[0], self.batch_size)
        if self.capacity < least:
            raise UserError(f"capacity must hold an episode with its virtual goals, {least}, not {self.capacity}")


def task(config: Config) -> tuple[int, Quit | None]:
    """Number of bits and kind of the extra action. Raises UserError for an unknown env."""
    match = re.fullmatch(r"BitFlip-(\d+)(?:-(terminal|timeout))?", config.env)
    if not match or not 1 <= int(match[1]) <= MAX_BITS:
        raise UserError(
            f"env must be BitFlip-<n>, BitFlip-<n>-terminal or BitFlip-<n>-timeout with n from 1 to {MAX_BITS}, "
            f"not {config.env!r}"
        )
    return int(match[1]), match[2]  # type: ignore[return-value]


# ---- where values are compared ---------------------------------------------------------------------------------------


def pairs(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Random bits and goals, float32 [n, PAIRS, n] each; in row d - 1, d bits are wrong."""
    bits = rng.integers(2, size=(n, PAIRS, n)).astype(np.float32)
    wrong = np.arange(n) <= np.arange(n)[:, None, None]  # the first d bits of row d - 1 ...
    wrong = rng.permuted(np.broadcast_to(wrong, bits.shape), axis=2)  # ... which are then shuffled
    return bits, np.abs(bits - wrong)


def shares(n: int) -> np.ndarray:
    """Share of the distances 1 .. n among all pairs of n bits that differ, float64 [n]."""
    ways = np.array([math.comb(n, d) for d in range(1, n + 1)], float)
    return ways / ways.sum()


# ---- a run -----------------------------------------------------------------------------------------------------------


def replay_fields(n: int) -> Fields:
    """Fields of a stored transition between states of n bits, each joined with its goal."""
    return {
        "inputs": ((2 * n,), np.float32), "action": ((), np.int64), "reward": ((), np.float32),
        "next_inputs": ((2 * n,), np.float32), "terminal": ((), np.float32),
    }  # fmt: skip


def replay_bytes(config: Config) -> int:
    """Memory [bytes] of the full replay: a sweep adds up its runs before it starts them."""
    return ring_bytes(config.capacity, replay_fields(task(config)[0]))


class Trainer:
    """The whole state of a run. Pickled, so that an interrupted run resumes bit for bit."""

    def __init__(self, config: Config):
        (n, kind), streams = task(config), Streams(config.seed)
        self.config, self.n, self.kind = config, n, kind
        self.env = BitFlip(n, kind)
        self.env.reset(seed=streams.integer("starts"))
        self.exploration = streams.numpy("exploration")
        self.cycles_done = self.episodes_done = 0
        n_actions = n + (kind is not None)
        self.agent = DQN(
            2 * n, n_actions, lr=config.lr, gamma=config.gamma, tau=config.tau, clip=config.clip,
            seed=streams.integer("network"),
        )  # fmt: skip
        fields = replay_fields(n)
        announce(config.capacity, fields)
        self.memory = Ring(config.capacity, fields)
        updates = config.epochs * config.cycles * config.updates
        self.sampler = PrioritizedSampler(
            config.capacity, streams.numpy("replay"), config.per_alpha, config.per_beta, beta_steps=updates, clip=None
        )
        self.hindsight = Hindsight(
            0 if config.method == "none" else config.k, self.env.compute_reward, streams.numpy("virtual goals"),
            keep="filtered" if config.method == "filtered-her" else "all",
        )  # fmt: skip
        bits, goals = pairs(n, streams.numpy("pairs"))
        self.pairs = np.concatenate([bits, goals], axis=2)
        exact = exact_values(bits.reshape(-1, n), goals.reshape(-1, n), config.gamma, kind)
        self.exact = exact.reshape(n, PAIRS, n_actions)

    @property
    def epsilon(self) -> float:
        epoch = self.cycles_done // self.config.cycles
        return max(self.config.epsilon * self.config.epsilon_decay**epoch, self.config.epsilon_end)

    # --- one training cycle -------------------------------------------------------------------------------------------

    def cycle(self) -> float:
        """Play the cycle's episodes and store them, then learn. Returns the mean loss; 0 before there is a batch."""
        for _ in range(self.config.episodes):
            self.store(*self.play())
        enough = len(self.memory) >= self.config.batch_size
        losses = [self.learn() for _ in range(self.config.updates)] if enough else [0.0]
        self.cycles_done += 1
        return float(np.mean(losses))

    def play(self) -> tuple[np.ndarray, np.ndarray, list[int], list[float], bool]:
        """One episode of T steps: bits [T + 1, n], goal [n], T actions and rewards, and whether it was terminated."""
        observation, _ = self.env.reset()
        goal = observation["desired_goal"]
        seen, actions, rewards = [observation["observation"]], [], []
        while True:
            action = self.agent.explore(np.concatenate([seen[-1], goal]), self.epsilon, self.exploration)
            observation, reward, terminated, truncated, _ = self.env.step(action)
            seen.append(observation["observation"])
            actions.append(action)
            rewards.append(reward)
            if terminated or truncated:
                return np.stack(seen), goal, actions, rewards, terminated

    def store(
        self, bits: np.ndarray, goal: np.ndarray, actions: list[int], rewards: list[float], terminated: bool
    ) -> None:
        """Store an episode under its real goal, and its virtual transitions under theirs."""
        length = len(actions)
        every, ends = np.arange(length), np.arange(length) == length - 1
        self._add(bits, actions, every, np.broadcast_to(goal, (length, self.n)), np.array(rewards), ends & terminated)
        steps, goals = self.hindsight(bits)
        if len(steps):
            virtual = self.env.compute_reward(bits[steps + 1], goals)  # Algorithm 2, line 19
            self._add(bits, actions, steps, goals, virtual, virtual == 0)  # Algorithm 2, line 22
        self.episodes_done += 1

    def _add(self, bits, actions, steps, goals, rewards, terminal) -> None:
        """Store the transitions `steps` [m] of an episode under `goals` [m, n]."""
        slots = self.memory.extend(
            inputs=np.concatenate([bits[steps], goals], axis=1),
            action=np.array(actions)[steps],
            reward=rewards,
            next_inputs=np.concatenate([bits[steps + 1], goals], axis=1),
            terminal=terminal,
        )
        self.sampler.extend(slots)

    def learn(self) -> float:
        """One gradient step on a prioritised batch; returns the loss."""
        slots, weights, _ = self.sampler.sample(self.config.batch_size)
        batch = Batch(**{name: torch.from_numpy(value) for name, value in self.memory.get(slots).items()})
        loss, td = self.agent.update(batch, torch.from_numpy(weights))
        if math.isfinite(loss):  # otherwise the run is about to be stopped
            self.sampler.update(slots, {"td_error": td})
        return loss

    # --- evaluation ---------------------------------------------------------------------------------------------------

    def evaluate(self) -> dict[str, float]:
        """Success rate of the greedy policy and bias of its values, rounded to what a figure can show.

        Means over all pairs of bits and goal that differ: ``flip_bias`` and ``quit_bias``, Q - Q* of flipping and of
        giving up, in costs of a step; ``quits``, share of pairs in which the greedy policy gives up. ``quit_bias_near``
        is the mean over the pairs with a single wrong bit.
        """
        rng = Streams(self.config.seed).numpy(f"evaluation at {self.episodes_done}")
        env = BitFlip(self.n, self.kind)
        seeds = rng.integers(2**31, size=self.config.eval_episodes)
        values = self.agent.values(self.pairs)
        bias, weights = (values - self.exact).mean(axis=1), shares(self.n)  # bias: [distance, action]
        metrics = {
            "success": float(np.mean([self._test(env, int(seed)) for seed in seeds])),
            "flip_bias": float(weights @ bias[:, : self.n].mean(axis=1)),
        }
        if self.kind is not None:
            metrics["quit_bias"] = float(weights @ bias[:, self.n])
            metrics["quit_bias_near"] = float(bias[0, self.n])
            metrics["quits"] = float(weights @ (values.argmax(axis=2) == self.n).mean(axis=1))
        return {name: round(value, 6) for name, value in metrics.items()}

    def bias_by_distance(self) -> dict[str, float]:
        """``quit_bias d``: the mean over the pairs with d wrong bits. Empty for the plain task."""
        if self.kind is None:
            return {}
        bias = (self.agent.values(self.pairs) - self.exact)[:, :, self.n].mean(axis=1)
        return {f"quit_bias {d}": round(float(value), 6) for d, value in enumerate(bias, start=1)}

    def _test(self, env: BitFlip, seed: int) -> bool:
        """One greedy episode: whether it succeeded."""
        observation, info = env.reset(seed=seed)
        ended = False
        while not ended:
            inputs = np.concatenate([observation["observation"], observation["desired_goal"]])
            observation, _, terminated, truncated, info = env.step(int(self.agent.values(inputs[None]).argmax()))
            ended = terminated or truncated
        return info["is_success"]


def train(run: Run, trainer: Trainer) -> dict:
    """Train to the end; returns the last evaluation. Steps: episodes."""
    c = trainer.config
    while trainer.cycles_done < c.epochs * c.cycles:
        loss = trainer.cycle()
        run.check_finite(trainer.episodes_done, loss=loss)
        run.tick(trainer.episodes_done)
        if trainer.cycles_done % c.cycles == 0:
            run.log(trainer.episodes_done, trainer.evaluate())
            if trainer.cycles_done % (c.cycles * SAVE_EVERY) == 0:
                run.save(trainer)
    metrics = run.last
    run.log(trainer.episodes_done, trainer.bias_by_distance())
    return run.finish({"episodes": trainer.episodes_done, **metrics}, weights=trainer.agent.q.state_dict())


def main(config: Config, run_dir: Path, **options: Any) -> dict:
    """Train in ``run_dir``, or resume there; returns the summary. See `lab.run.runs.execute`."""
    total = config.epochs * config.cycles * config.episodes
    return execute(config, run_dir, train, Trainer, total=lambda _: total, unit="episode", score="success", **options)


if __name__ == "__main__":
    cli(Config, main, __doc__)
