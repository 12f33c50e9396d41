"""Train DDPG with one of the paper's four kinds of hindsight on a goal environment, and measure how well it does.

    .venv/bin/python -m papers.bias_reduced_her.train --env Hand --method filtered-her-ibs --seed 0

The methods share agent, memory, prioritised replay and the loop below. They differ in the virtual goals of an episode
alone: which are preferred (``ibs``) and which are left out (``filtered``); see hindsight.py.

Time is counted in episodes. As in the original HER (Andrychowicz et al. 2017, Appendix A), an epoch is 50 training
cycles, a cycle 16 episodes and then 40 gradient steps; the target networks move once per cycle.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from gymnasium.vector import VectorEnv

from common.replay.samplers import PrioritizedSampler
from common.replay.storage import Ring, announce, ring_bytes
from lab.cli import cli
from lab.errors import UserError
from lab.runs import Run, Streams
from lab.settings import check_settings
from papers.bias_reduced_her import measure
from papers.bias_reduced_her.ddpg import DDPG, Batch, replay_fields
from papers.bias_reduced_her.fast_ddpg import FastDDPG
from papers.bias_reduced_her.goals import Goals
from papers.bias_reduced_her.hindsight import Hindsight, Keep
from papers.bias_reduced_her.instructional import Grid, Instruction, Proposal
from papers.bias_reduced_her.scaling import Scaler
from papers.bias_reduced_her.worlds import TASKS, make_env, make_worlds

METHODS: dict[str, Keep] = {
    "her": "all", "filtered-her": "filtered", "her-ibs": "all", "filtered-her-ibs": "filtered", "her-thinned": "thinned"
}  # fmt: skip
"""Methods and the virtual transitions that each keeps. The last one is no method but a control, see hindsight.py."""
SAVE_EVERY = 10
"""Epochs between two checkpoints."""


@dataclass(frozen=True)
class Config:
    """Every setting of a run. Defaults are the paper's where it states a value, with the place where it does, and else
    those of the original HER, whose networks and settings the paper takes."""

    env: str = "Hand"
    """Task: Hand, HandWall, Robot, or the id of any gymnasium goal environment with continuous actions."""
    method: Literal["her", "filtered-her", "her-ibs", "filtered-her-ibs", "her-thinned", "none"] = "filtered-her-ibs"
    """Kind of hindsight (Sec. 4.2); her-thinned is HER that keeps as many virtual goals as the filter would, at random;
    none replays real goals only."""
    seed: int = 0
    """Seed of all random streams of the run."""
    epochs: int = 200
    """Training length in epochs. HER's."""
    device: str = "cpu"
    """Where the networks live: cpu or cuda."""

    cycles: int = 50
    """Training cycles per epoch. HER's."""
    episodes: int = 16
    """Episodes per cycle. HER's."""
    updates: int = 40
    """Gradient steps per cycle. HER's."""
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
    """Share of the online in the target networks per cycle. HER's; App. D.1 prints 7, which cannot be a share."""
    action_penalty: float = 0.0
    """Weight of the actions' mean square in the actor's loss. Not in the paper; 1 in the code of HER."""
    epsilon: float = 1.0
    """First probability of exploring (App. D.1)."""
    epsilon_decay: float = 0.95
    """Factor on it at the start of every epoch but the first (App. D.1)."""
    epsilon_end: float = 0.05
    """Its smallest value (App. D.1)."""

    k: int = 4
    """Virtual goals drawn per transition, strategy `future`. HER's."""
    redraw: bool = False
    """A goal that the filter leaves out is drawn again (Sec. 3.2.2, where Algorithm 2 skips it)."""
    end_at_success: bool = True
    """Success ends an episode, for real goals and virtual ones. False: virtual successes do not, nor do real ones
    unless the environment itself terminates, as Hand, HandWall and Robot do."""
    per_alpha: float = 0.6
    """Exponent of priorities. Not in the paper; Schaul et al. 2016."""
    per_beta: float = 0.4
    """First exponent of the importance weights; reaches 1 at the end of training. Not in the paper; likewise."""

    grid: int = 10
    """Cells of the grid of virtual goals along each side. Not in the paper."""
    sigma: float = 2.0
    """IBS: first standard deviation of the kernel, in sides of the screen (Sec. 3.1.3, Algorithm 1)."""
    sigma_end: float = 0.2
    """IBS: its last value (Fig. 2). Virtual goals are compared with the target distribution of this kernel."""
    sigma_decay: float = 0.9
    """IBS: factor on it (Sec. 3.1.3) ..."""
    sigma_cycles: int = 50
    """IBS: ... after this many training cycles (Sec. 3.1.3)."""
    sigma_squared: bool = False
    """IBS: sigma and sigma_end are variances, as Secs. 3.1.2 and 3.1.3 write them."""
    floor: float = 0.002
    """IBS: smallest weight of a goal (Sec. 3.1.2)."""
    goals: Literal["uniform", "mixture", "moving"] = "uniform"
    """Distribution of real goals: the task's; a mixture of Gaussians (App. A.1); or one that becomes another at half of
    the training (App. A.2)."""

    eval_episodes: int = 100
    """Episodes per evaluation. Not in the paper."""
    eval_every: int = 2
    """Epochs between evaluations. Not in the paper."""


def check(config: Config) -> None:
    """Raise UserError for settings that cannot work."""
    check_settings(
        config,
        at_least_1=("epochs", "cycles", "episodes", "updates", "grid", "sigma_cycles", "eval_episodes", "eval_every"),
        positive=("lr", "clip", "sigma", "sigma_end"),
        not_negative=("action_penalty",),
        in_0_1=("epsilon", "epsilon_decay", "epsilon_end", "tau", "per_alpha", "per_beta"),
    )
    if config.batch_size < 2:
        raise UserError(f"batch_size must be at least 2, which batch normalisation needs, not {config.batch_size}")
    if not 0 < config.gamma < 1:
        raise UserError(f"gamma must lie in (0, 1), not {config.gamma}")
    if config.redraw and not config.method.startswith("filtered"):
        raise UserError(f"redraw draws again what a filter leaves out; {config.method} has none")


def replay_bytes(config: Config) -> int:
    """Memory [bytes] of the full replay: a sweep adds up its runs before it starts them."""
    return ring_bytes(config.capacity, replay_fields(make_env(config.env)))


@dataclass(frozen=True)
class Episode:
    """T steps: states s_0 .. s_T [T + 1, o], the goals they achieve [T + 1, d] and the one that was wanted [d], actions
    [T, a], rewards [T]. terminated: did it end for good, or run out of time?"""

    states: np.ndarray
    achieved: np.ndarray
    goal: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    terminated: bool


class Trainer:
    """All that a run consists of. Pickled between two cycles, so that an interrupted run goes on bit for bit."""

    def __init__(self, config: Config):
        c, streams, task = config, Streams(config.seed), make_env(config.env)
        self.config = config
        self.cycles_done = self.episodes_done = self.steps_done = self.virtual_done = 0
        self.exploration, self.starts = streams.numpy("exploration"), streams.numpy("starts")
        self.reward = task.unwrapped.compute_reward  # type: ignore[attr-defined]
        self.goals = Goals(c.goals, task, streams)
        space: Any = task.observation_space
        size = space["observation"].shape[0] + space["desired_goal"].shape[0]
        self.scale = Scaler(size)
        self.agent = (FastDDPG if c.device == "cpu" else DDPG)(
            size, task.action_space.shape[0], lr=c.lr, gamma=c.gamma, tau=c.tau, clip=c.clip,  # type: ignore[index]
            action_penalty=c.action_penalty, seed=streams.integer("network"), device=c.device,
        )  # fmt: skip
        longest = getattr(task.spec, "max_episode_steps", None) or 1
        if c.capacity < max((1 + c.k) * longest, c.batch_size):
            raise UserError(f"a capacity of {c.capacity} holds no episode of {longest} steps with virtual goals")
        fields = replay_fields(task)
        announce(c.capacity, fields)
        self.memory = Ring(c.capacity, fields)
        self.sampler = PrioritizedSampler(
            c.capacity, streams.numpy("replay"), c.per_alpha, c.per_beta, beta_steps=c.epochs * c.cycles * c.updates,
            clip=None,
        )  # fmt: skip
        self.proposal = Proposal(Grid((c.grid, c.grid))) if self.goals.known is not None else None
        self.instruction = None
        if c.method.endswith("ibs"):
            if self.proposal is None or self.goals.known is None:
                raise UserError(f"{c.method} needs a task with two-dimensional goals from a box: {', '.join(TASKS)}")
            self.instruction = Instruction(self.proposal, self.goals.known, *self.variances, floor=c.floor)
        self.hindsight = Hindsight(
            0 if c.method == "none" else c.k, self.reward, streams.numpy("virtual goals"),
            keep="redrawn" if c.redraw else METHODS.get(c.method, "all"),
            instruction=self.instruction, proposal=self.proposal,
        )  # fmt: skip
        self._make_worlds()

    @property
    def variances(self) -> tuple[float, float, float]:
        """First and last variance of the kernel, and the factor between them after some cycles."""
        power = 1 if self.config.sigma_squared else 2
        return self.config.sigma**power, self.config.sigma_end**power, self.config.sigma_decay**power

    @property
    def epsilon(self) -> float:
        epoch = self.cycles_done // self.config.cycles
        return max(self.config.epsilon * self.config.epsilon_decay**epoch, self.config.epsilon_end)

    # --- Algorithms 1 and 2: one training cycle -----------------------------------------------------------------------

    def cycle(self) -> float:
        """Play, store, learn; returns the critic's mean loss, 0 while the memory holds less than a batch. Lines are
        those of Algorithm 1; where Algorithm 2 has others, they follow after a comma."""
        c = self.config
        seeds = 2 * self.starts.integers(2**31, size=c.episodes)  # lines 13-14: evaluation has the odd ones
        explore = partial(self.agent.explore, epsilon=self.epsilon, rng=self.exploration)
        for episode in self.play(self.worlds, seeds, explore):
            self.store(episode)
        losses = [0.0]
        if len(self.memory) >= c.batch_size:
            losses = [self.learn() for _ in range(c.updates)]  # lines 29-31
        self.agent.average_targets()
        self.cycles_done += 1
        moved = self.goals.move_on(self.cycles_done / (c.epochs * c.cycles))
        if self.instruction is not None and self.goals.known is not None:
            if moved:
                self.instruction.set_goals(self.goals.known)
            if self.cycles_done % c.sigma_cycles == 0:
                self.instruction.anneal()
        return float(np.mean(losses))

    def play(self, worlds: VectorEnv, seeds: np.ndarray, act: Any, **options: Any) -> list[Episode]:
        """One episode from each seed [n], side by side until all have ended; act: scaled inputs [n, i] -> [n, a]."""
        seen, _ = worlds.reset(seed=seeds.tolist(), options=self.goals.options(seeds) | options)
        goals = seen["desired_goal"]
        states, achieved, actions, rewards = [seen["observation"]], [seen["achieved_goal"]], [], []
        length, playing, terminated = np.zeros(len(seeds), int), np.ones(len(seeds), bool), np.zeros(len(seeds), bool)
        while playing.any():
            actions.append(act(self.inputs(states[-1], goals)))  # lines 15-16
            seen, reward, end, out_of_time, _ = worlds.step(actions[-1])  # line 17
            states.append(seen["observation"])
            achieved.append(seen["achieved_goal"])
            rewards.append(reward)
            length += playing
            end = self.ends(reward, end)
            terminated |= playing & end
            playing &= ~(end | out_of_time)
        s, g, a, r = (np.stack(values) for values in (states, achieved, actions, rewards))
        return [
            Episode(s[: n + 1, i], g[: n + 1, i], goals[i], a[:n, i], r[:n, i], bool(terminated[i]))
            for i, n in enumerate(length)
        ]

    def ends(self, rewards: np.ndarray, terminated: Any = False) -> np.ndarray:
        """Whether steps with these rewards [n] end their episode for good. Success does, if end_at_success says so."""
        return terminated | ((rewards == 0) & self.config.end_at_success)

    def store(self, e: Episode) -> None:
        """Put an episode into the memory, once with its real goal and once with every virtual one."""
        steps = np.arange(len(e.actions))  # line 20, 14
        real = np.broadcast_to(e.goal, (len(steps), len(e.goal)))
        last = steps == len(steps) - 1
        self._add(e, steps, real, e.rewards, last & e.terminated)  # lines 21-22, 15-16
        # Which inputs there are is the same question for every method: real goals, and achieved ones as often.
        self.scale.add(np.concatenate([_joined(e.states[1:], real), _joined(e.states[1:], e.achieved[1:])]))
        steps, goals = self.hindsight(e.achieved)  # lines 18-19 and 23, 17; and 27-28
        if len(steps):
            rewards = np.asarray(self.reward(e.achieved[steps + 1], goals, None))  # lines 24-25, 18-19
            self._add(e, steps, goals, rewards, self.ends(rewards))  # line 26, 22
        self.episodes_done += 1
        self.steps_done += len(e.actions)
        self.virtual_done += len(steps)

    def _add(self, e: Episode, steps: np.ndarray, goals: np.ndarray, rewards: np.ndarray, terminal: np.ndarray) -> None:
        """Store the transitions `steps` [n] of an episode under `goals` [n, d]."""
        slots = self.memory.extend(
            inputs=_joined(e.states[steps], goals), action=e.actions[steps], reward=rewards,
            next_inputs=_joined(e.states[steps + 1], goals), terminal=terminal,
        )  # fmt: skip
        self.sampler.extend(slots)

    def learn(self) -> float:
        """One gradient step on a prioritised batch; returns the critic's loss."""
        slots, weights, _ = self.sampler.sample(self.config.batch_size)  # line 30, 24
        batch: Batch[np.ndarray] = Batch(**self.memory.get(slots))
        batch = batch._replace(inputs=self.scale(batch.inputs), next_inputs=self.scale(batch.next_inputs))
        loss, td = self.agent.update(batch, weights)  # line 31, 25
        if np.isfinite(loss):  # else the run is about to be stopped
            self.sampler.update(slots, {"td_error": td})
        return loss

    def inputs(self, states: np.ndarray, goals: np.ndarray) -> np.ndarray:
        """What the networks see of states [n, o] and goals [n, d]."""
        return self.scale(_joined(states, goals))

    # --- evaluation ---------------------------------------------------------------------------------------------------

    def evaluate(self) -> dict[str, float]:
        """Metrics of the greedy policy and of the virtual goals stored so far, see measure.py."""
        rng = Streams(self.config.seed).numpy(f"evaluation at {self.episodes_done}")
        seeds = 2 * rng.integers(2**31, size=self.config.eval_episodes) + 1  # training has the even ones
        return measure.summary(self, self.play(self.tests, seeds, self.agent.act)) | measure.kl(self)

    # --- pickling -----------------------------------------------------------------------------------------------------

    def _make_worlds(self) -> None:
        self.worlds = make_worlds(self.config.env, self.config.episodes)
        self.tests = make_worlds(self.config.env, self.config.eval_episodes)

    def __getstate__(self) -> dict[str, Any]:
        """Without the worlds, which every cycle sets back to new starts."""
        return {name: value for name, value in vars(self).items() if name not in ("worlds", "tests")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._make_worlds()


def _joined(states: np.ndarray, goals: np.ndarray) -> np.ndarray:
    return np.concatenate([states, goals], axis=1, dtype=np.float32)


def main(config: Config, run_dir: Path, *, tensorboard: bool = False, progress: bool = False) -> dict:
    """Train as ``config`` says, resuming what ``run_dir`` already holds; returns the last evaluation.

    Raises:
        UserError: settings that cannot work, or a ``run_dir`` that belongs to another run.
    """
    check(config)
    fresh = Trainer(config)  # before there is a run directory: settings that it rejects leave none behind
    shown: Any = dict(total_steps=config.epochs * config.cycles * config.episodes, unit="episode", score="success")
    with Run.open(config, run_dir, **shown, tensorboard=tensorboard, progress=progress) as run:
        if run.finished is not None:
            return run.finished
        return go_on(run, run.load() or {"trainer": fresh, "metrics": {}})


def go_on(run: Run, state: dict[str, Any]) -> dict:
    """Train to the end from what a checkpoint holds; returns the last evaluation."""
    trainer, metrics = state["trainer"], state["metrics"]
    config = trainer.config
    while trainer.cycles_done < config.epochs * config.cycles:
        loss = trainer.cycle()
        run.check_finite(trainer.episodes_done, critic_loss=loss)
        run.tick(trainer.episodes_done)
        epoch, rest = divmod(trainer.cycles_done, config.cycles)
        if rest == 0 and (epoch % config.eval_every == 0 or epoch == config.epochs):
            metrics = trainer.evaluate()
            run.log(trainer.episodes_done, metrics)
        if rest == 0 and epoch % SAVE_EVERY == 0:
            run.save({"trainer": trainer, "metrics": metrics})
    run.log(trainer.episodes_done, measure.at_the_end(trainer))
    weights = trainer.agent.weights() | trainer.scale.weights()
    return run.finish({"episodes": trainer.episodes_done, **metrics}, weights)


if __name__ == "__main__":
    cli(Config, main, __doc__)
