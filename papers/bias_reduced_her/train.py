"""Train DDPG with one of the paper's four kinds of hindsight on a goal environment, and measure how well it does.

    .venv/bin/python -m papers.bias_reduced_her.train --env Hand --method filtered-her-ibs --seed 0

The four methods share agent, memory, prioritised replay and the loop below. They differ in the virtual goals of an
episode alone: which are preferred (``ibs``) and which are left out (``filtered``); see hindsight.py.

Time is counted in episodes: an epoch is 50 training cycles, a cycle some episodes and then some gradient steps.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import gymnasium
import numpy as np
import torch

from common.replay.samplers import PrioritizedSampler
from common.replay.storage import Ring, announce, ring_bytes
from lab.cli import cli
from lab.errors import UserError
from lab.runs import Run, Streams
from lab.settings import check_settings
from papers.bias_reduced_her.ddpg import DDPG, Batch, replay_fields
from papers.bias_reduced_her.hindsight import Hindsight
from papers.bias_reduced_her.instructional import (
    Grid,
    Instruction,
    Proposal,
    divergence,
    target_distribution,
    uniform_density,
)

TASKS = {"Hand": "envs:Hand-v1", "HandWall": "envs:HandWall-v1", "Robot": "envs:Robot-v1"}
METHODS = ("her", "filtered-her", "her-ibs", "filtered-her-ibs")
SAVE_EVERY = 10
"""Epochs between two checkpoints."""


@dataclass(frozen=True)
class Config:
    """Every setting of a run. Defaults are the paper's where it states a value, with the place where it does."""

    env: str = "Hand"
    """Task: Hand, HandWall, Robot, or the id of any gymnasium goal environment with continuous actions."""
    method: Literal["her", "filtered-her", "her-ibs", "filtered-her-ibs", "none"] = "filtered-her-ibs"
    """Kind of hindsight (Sec. 4.2); none replays real goals only."""
    seed: int = 0
    """Seed of all random streams of the run."""
    epochs: int = 200
    """Training length in epochs. Not in the paper."""
    device: str = "cpu"
    """Where the networks live: cpu or cuda."""

    cycles: int = 50
    """Training cycles per epoch. Not in the paper; as in the code of HER."""
    episodes: int = 4
    """Episodes per cycle. Not in the paper."""
    updates: int = 40
    """Gradient steps per cycle. Not in the paper; as in the code of HER."""
    batch_size: int = 64
    """Transitions per gradient step (App. D.2)."""
    capacity: int = 1_000_000
    """Transitions kept, virtual ones included (App. D.1)."""

    gamma: float = 0.98
    """Discount (App. D.1)."""
    lr: float = 1e-3
    """Adam's step size, actor and critic (App. D.2)."""
    clip: float = 3.0
    """Largest gradient norm (L2), actor and critic (App. D.2)."""
    tau: float = 0.05
    """Share of the online in the target networks per update. App. D.1 prints 7, which cannot be a share."""
    action_penalty: float = 0.0
    """Weight of the actions' mean square in the actor's loss. Not in the paper; 1 in the code of HER."""
    epsilon: float = 1.0
    """First probability of exploring (App. D.1)."""
    epsilon_decay: float = 0.95
    """Factor on it at the start of every epoch but the first (App. D.1)."""
    epsilon_end: float = 0.05
    """Its smallest value (App. D.1)."""

    k: int = 4
    """Virtual goals drawn per transition, strategy `future`. Not in the paper; HER's value."""
    end_at_success: bool = True
    """Success ends an episode, for real goals and virtual ones. False: virtual successes do not, nor do real ones
    unless the environment itself terminates, as Hand, HandWall and Robot do."""
    per_alpha: float = 0.6
    """Exponent of priorities. Not in the paper; Schaul et al. 2016."""
    per_beta: float = 0.4
    """First exponent of the importance weights; reaches 1 at the end of training. Not in the paper; likewise."""

    grid: int = 20
    """Cells of the grid of virtual goals along each side. Not in the paper."""
    sigma2: float = 2.0
    """IBS: first variance of the kernel, in squared lengths of the screen (Sec. 3.1.3)."""
    sigma2_end: float = 0.2
    """IBS: last variance (Sec. 3.1.3). Virtual goals are compared with the target distribution of this variance."""
    sigma2_decay: float = 0.9
    """IBS: factor on the variance (Sec. 3.1.3) ..."""
    sigma2_cycles: int = 50
    """IBS: ... after this many training cycles (Sec. 3.1.3)."""
    floor: float = 0.002
    """IBS: smallest weight of a goal (Sec. 3.1.2)."""

    eval_episodes: int = 100
    """Episodes per evaluation, one evaluation per epoch. Not in the paper."""


def check(config: Config) -> None:
    """Raise UserError for settings that cannot work."""
    check_settings(
        config,
        at_least_1=("epochs", "cycles", "episodes", "updates", "grid", "sigma2_cycles", "eval_episodes"),
        positive=("lr", "clip"),
        not_negative=("action_penalty",),
        in_0_1=("epsilon", "epsilon_decay", "epsilon_end", "tau", "per_alpha", "per_beta"),
    )
    if config.batch_size < 2:
        raise UserError(f"batch_size must be at least 2, which batch normalisation needs, not {config.batch_size}")
    if not 0 < config.gamma < 1:
        raise UserError(f"gamma must lie in (0, 1), not {config.gamma}")


def make_env(name: str) -> gymnasium.Env:
    """The task called `name`. UserError unless it is a goal environment with continuous actions in [-1, 1]."""
    try:
        env = gymnasium.make(TASKS.get(name, name), disable_env_checker=True)
    except (gymnasium.error.Error, ModuleNotFoundError) as error:
        right = ", ".join(TASKS)
        raise UserError(f"unknown env {name!r} ({error}): right are {right} or an installed id") from None
    space, actions = env.observation_space, env.action_space
    names = {"observation", "achieved_goal", "desired_goal"}
    if not isinstance(space, gymnasium.spaces.Dict) or not names <= set(space.spaces):
        raise UserError(f"{name} is no goal environment: its observations need {', '.join(sorted(names))}")
    if not hasattr(env.unwrapped, "compute_reward"):
        raise UserError(f"{name} has no compute_reward(achieved, desired, info), which hindsight needs")
    if not isinstance(actions, gymnasium.spaces.Box) or not (np.all(actions.low == -1) and np.all(actions.high == 1)):
        raise UserError(f"{name} needs continuous actions in [-1, 1], not {actions}")
    return env


def replay_bytes(config: Config) -> int:
    """Memory [bytes] of the full replay: a sweep adds up its runs before it starts them."""
    return ring_bytes(config.capacity, replay_fields(make_env(config.env)))


class Trainer:
    """All that a run consists of. Pickled as a whole, so that an interrupted run goes on bit for bit."""

    def __init__(self, config: Config):
        streams = Streams(config.seed)
        self.config = config
        self.env = make_env(config.env)
        self.reward = self.env.unwrapped.compute_reward  # type: ignore[attr-defined]
        self.cycles_done = self.episodes_done = self.steps_done = self.virtual_done = 0
        self.exploration, self.starts = streams.numpy("exploration"), streams.numpy("starts")
        space: Any = self.env.observation_space
        observations, goals = (space[name].shape[0] for name in ("observation", "desired_goal"))
        n_actions = len(self.env.action_space.low)  # type: ignore[attr-defined]
        self.agent = DDPG(
            observations + goals, n_actions, lr=config.lr, gamma=config.gamma, tau=config.tau, clip=config.clip,
            action_penalty=config.action_penalty, seed=streams.integer("network"), device=config.device,
        )  # fmt: skip
        longest = getattr(self.env.spec, "max_episode_steps", None) or 1
        if config.capacity < max((1 + config.k) * longest, config.batch_size):
            raise UserError(f"a capacity of {config.capacity} holds no episode of {longest} steps with virtual goals")
        fields = replay_fields(self.env)
        announce(config.capacity, fields)
        self.memory = Ring(config.capacity, fields)
        updates = config.epochs * config.cycles * config.updates
        self.sampler = PrioritizedSampler(
            config.capacity, streams.numpy("replay"), config.per_alpha, config.per_beta, beta_steps=updates, clip=None
        )
        self.proposal, self.instruction = self._make_instruction(goals)
        self.hindsight = Hindsight(
            0 if config.method == "none" else config.k, self.reward, streams.numpy("virtual goals"),
            filtered=config.method.startswith("filtered"), instruction=self.instruction, proposal=self.proposal,
        )  # fmt: skip
        self._losses: list[float] = []

    def _make_instruction(self, goals: int) -> tuple[Proposal | None, Instruction | None]:
        """The histogram of virtual goals, which needs two-dimensional ones and their box, and IBS where asked for."""
        task: Any = self.env.unwrapped
        c = self.config
        if goals != 2 or not hasattr(task, "goal_low"):
            if c.method.endswith("ibs"):
                raise UserError(f"{c.method} needs a task with two-dimensional goals from a box: {', '.join(TASKS)}")
            return None, None
        proposal = Proposal(Grid((c.grid, c.grid)))
        self.density = uniform_density(task.goal_low, task.goal_high)
        instruction = Instruction(proposal, self.density, c.sigma2, c.sigma2_end, c.sigma2_decay, c.floor)
        return proposal, instruction if c.method.endswith("ibs") else None

    @property
    def epsilon(self) -> float:
        epoch = self.cycles_done // self.config.cycles
        return max(self.config.epsilon * self.config.epsilon_decay**epoch, self.config.epsilon_end)

    # --- one training cycle -------------------------------------------------------------------------------------------

    def cycle(self) -> float:
        """Play and store the cycle's episodes, then learn. Returns the critic's mean loss, 0 before it can learn."""
        for _ in range(self.config.episodes):
            self.store(*self.play())
        enough = len(self.memory) >= self.config.batch_size
        losses = [self.learn() for _ in range(self.config.updates)] if enough else [0.0]
        self.cycles_done += 1
        if self.instruction is not None and self.cycles_done % self.config.sigma2_cycles == 0:
            self.instruction.anneal()
        self._losses.append(float(np.mean(losses)))
        return self._losses[-1]

    def play(self) -> tuple[list[dict], list[np.ndarray], list[float], bool]:
        """One episode of T steps: T + 1 observations, T actions and rewards, and whether it was terminated."""
        observation, _ = self.env.reset(seed=2 * int(self.starts.integers(2**31)))
        seen, actions, rewards = [observation], [], []
        while True:
            inputs = np.concatenate([observation["observation"], observation["desired_goal"]], dtype=np.float32)
            action = self.agent.explore(inputs, self.epsilon, self.exploration)
            observation, reward, terminated, truncated, _ = self.env.step(action)
            terminated = terminated or (self.config.end_at_success and reward == 0)
            seen.append(observation)
            actions.append(action)
            rewards.append(float(reward))
            if terminated or truncated:
                return seen, actions, rewards, terminated

    def store(self, seen: list[dict], actions: list[np.ndarray], rewards: list[float], terminated: bool) -> None:
        """Put an episode into the memory, once with its real goal and once with every virtual one."""
        length = len(actions)
        states = np.stack([o["observation"] for o in seen]).astype(np.float32)
        achieved = np.stack([o["achieved_goal"] for o in seen])
        real = np.broadcast_to(seen[0]["desired_goal"], (length, achieved.shape[1]))
        ends = np.arange(length) == length - 1
        self._add(states, np.stack(actions), np.arange(length), real, np.array(rewards), ends & terminated)
        steps, goals = self.hindsight(achieved)
        if len(steps):
            virtual = np.asarray(self.reward(achieved[steps + 1], goals, None))  # Algorithm 1, line 25
            reached = virtual == 0 if self.config.end_at_success else np.zeros(len(steps), bool)
            self._add(states, np.stack(actions), steps, goals, virtual, reached)  # Algorithm 1, line 26
        self.episodes_done += 1
        self.steps_done += length
        self.virtual_done += len(steps)

    def _add(self, states, actions, steps, goals, rewards, terminal) -> None:
        """Store the transitions `steps` [n] of an episode under `goals` [n, d]."""
        slots = self.memory.extend(
            inputs=np.concatenate([states[steps], goals], axis=1),
            action=actions[steps],
            reward=rewards,
            next_inputs=np.concatenate([states[steps + 1], goals], axis=1),
            terminal=terminal,
        )
        self.sampler.extend(slots)

    def learn(self) -> float:
        """One gradient step on a prioritised batch; returns the critic's loss."""
        slots, weights = self.sampler.sample(self.config.batch_size)
        stored, device = self.memory.get(slots), self.config.device
        batch = Batch(**{name: torch.from_numpy(value).to(device) for name, value in stored.items()})
        loss, td = self.agent.update(batch, torch.from_numpy(weights).to(device))
        if math.isfinite(loss):  # else the run is about to be stopped
            self.sampler.update(slots, td)
        return loss

    # --- evaluation ---------------------------------------------------------------------------------------------------

    def evaluate(self) -> dict[str, float]:
        """Metrics of the greedy policy and of the virtual goals stored so far.

        ``q_estimate`` is Q(s_0, pi(s_0)); ``return`` the discounted return it should equal, where an episode that fails
        counts as failing for ever, as it does in the targets.
        """
        rng = Streams(self.config.seed).numpy(f"evaluation at {self.episodes_done}")
        tests = [self._test(2 * int(rng.integers(2**31)) + 1) for _ in range(self.config.eval_episodes)]
        metrics = {name: float(np.mean([test[name] for test in tests])) for name in tests[0]}
        metrics["env_steps"] = self.steps_done
        metrics["virtual_per_step"] = self.virtual_done / max(self.steps_done, 1)
        if self._losses:
            metrics["critic_loss"] = float(np.mean(self._losses))
        self._losses = []
        if self.proposal is not None:
            # Every method's virtual goals are compared with q* at the last variance of the kernel.
            target = target_distribution(self.proposal.grid, self.density, self.config.sigma2_end)
            metrics["kl"] = divergence(target, self.proposal.smoothed)
        return metrics

    def _test(self, seed: int) -> dict[str, float]:
        """One greedy episode. Training takes even seeds and evaluation odd ones: never the same draw."""
        gamma = self.config.gamma
        observation, _ = self.env.reset(seed=seed)
        inputs = np.concatenate([observation["observation"], observation["desired_goal"]], dtype=np.float32)[None]
        estimate = float(self.agent.value(inputs)[0])
        discounted, factor, ended, reward = 0.0, 1.0, False, -1.0
        while not ended:
            observation, earned, terminated, truncated, _ = self.env.step(self.agent.act(inputs)[0])
            reward = float(earned)
            inputs = np.concatenate([observation["observation"], observation["desired_goal"]], dtype=np.float32)[None]
            discounted += factor * reward
            factor *= gamma
            ended = terminated or truncated or (self.config.end_at_success and reward == 0)
        success = reward == 0
        if not success:
            discounted -= factor / (1 - gamma)
        distance = float(np.linalg.norm(observation["achieved_goal"] - observation["desired_goal"]))
        return {"success": success, "distance": distance, "q_estimate": estimate, "return": discounted}


def main(config: Config, run_dir: Path, *, tensorboard: bool = False, progress: bool = False) -> dict:
    """Train as ``config`` says, resuming what ``run_dir`` already holds; returns the last evaluation.

    Raises:
        UserError: settings that cannot work, or a ``run_dir`` that belongs to another run.
    """
    check(config)
    fresh = Trainer(config)  # before there is a run directory: settings that it rejects leave none behind
    total = config.epochs * config.cycles * config.episodes
    with Run.open(
        config, run_dir, total_steps=total, unit="episode", score="success", tensorboard=tensorboard, progress=progress
    ) as run:
        if run.finished is not None:
            return run.finished
        state = run.load() or {"trainer": fresh, "metrics": {}}
        trainer, metrics = state["trainer"], state["metrics"]
        while trainer.cycles_done < config.epochs * config.cycles:
            loss = trainer.cycle()
            run.check_finite(trainer.episodes_done, critic_loss=loss)
            run.tick(trainer.episodes_done)
            if trainer.cycles_done % config.cycles == 0:
                metrics = trainer.evaluate()
                run.log(trainer.episodes_done, metrics)
                if trainer.cycles_done % (config.cycles * SAVE_EVERY) == 0:
                    run.save({"trainer": trainer, "metrics": metrics})
        if trainer.proposal is not None:
            run.log(trainer.episodes_done, virtual_goals(trainer.proposal))
        return run.finish({"episodes": trainer.episodes_done, **metrics}, weights=trainer.agent.actor.state_dict())


def virtual_goals(proposal: Proposal) -> dict[str, float]:
    """The proposal distribution as metrics ``virtual i j``: the share of column i, row j; empty cells are left out."""
    shares = proposal.q.reshape(proposal.grid.shape)
    return {f"virtual {i} {j}": float(shares[i, j]) for i, j in zip(*np.nonzero(shares))}


if __name__ == "__main__":
    cli(Config, main, __doc__)
