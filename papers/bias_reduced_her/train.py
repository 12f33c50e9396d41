"""Train DDPG with one of the paper's four kinds of hindsight on a goal environment, and measure how well it does.

    .venv/bin/python -m papers.bias_reduced_her.train --env Hand --method filtered-her-ibs --seed 0

The methods share agent, memory, prioritised replay and the loop below. They differ only in the virtual goals of an
episode: which are preferred (``ibs``) and which are left out (``filtered``); see hindsight.py.

Time is counted in episodes. As in the original HER (Andrychowicz et al. 2017, Appendix A), an epoch is 50 training
cycles, a cycle 16 episodes and then 40 gradient steps; the target networks move once per cycle.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from gymnasium.vector import VectorEnv

from common.replay.samplers import PrioritizedSampler
from common.replay.storage import Ring, announce, ring_bytes
from common.twins import fast
from envs.fetch import is_fetch
from lab.run.cli import cli
from lab.run.errors import UserError
from lab.run.runs import Run, Streams, execute
from lab.run.settings import Count, NotNegative, Positive, Range, Share
from papers.bias_reduced_her.agents.ddpg import DDPG, Batch, replay_fields
from papers.bias_reduced_her.agents.fast_ddpg import FastDDPG
from papers.bias_reduced_her.agents.fast_plain_ddpg import FastPlainDDPG
from papers.bias_reduced_her.agents.plain_ddpg import PlainDDPG
from papers.bias_reduced_her.agents.scaling import Scaler
from papers.bias_reduced_her.hindsight import Hindsight, Keep
from papers.bias_reduced_her.instructional import Grid, Instruction, Proposal
from papers.bias_reduced_her.worlds import measure
from papers.bias_reduced_her.worlds.goals import Goals
from papers.bias_reduced_her.worlds.measure import Episode
from papers.bias_reduced_her.worlds.tasks import TASKS, make_env, make_worlds

FAST = {DDPG: FastDDPG, PlainDDPG: FastPlainDDPG}
"""Twins that learn in their place on a CPU, see `common/twins.py`."""
METHODS: dict[str, Keep] = {
    "her": "all", "filtered-her": "filtered", "her-ibs": "all", "filtered-her-ibs": "filtered", "her-thinned": "thinned"
}  # fmt: skip
"""Method -> the virtual transitions it keeps. The last one is a control, not in the paper; see hindsight.py."""
AGENTS = {"paper": DDPG, "her": PlainDDPG}
"""By the networks that it has."""
SAVE_EVERY = 10
"""Epochs between two checkpoints."""


@dataclass(frozen=True)
class Config:
    """Every setting of a run. Defaults are the paper's, with the place that states them, and otherwise those of the
    original HER, whose networks and settings the paper takes."""

    env: str = "Hand"
    """Task: Hand, HandWall, Robot, FetchPush (train_fetch.py), or the id of a goal environment, continuous actions."""
    method: Literal["her", "filtered-her", "her-ibs", "filtered-her-ibs", "her-thinned", "none"] = "filtered-her-ibs"
    """Kind of hindsight (Sec. 4.2). her-thinned: HER, its virtual goals thinned at random to as many as the filter
    keeps. none: real goals only."""
    seed: int = 0
    """Seed of all random streams of the run."""
    epochs: Count = 200
    """Training length in epochs (HER's)."""
    device: str = "cpu"
    """Where the networks live: cpu or cuda."""

    cycles: Count = 50
    """Training cycles per epoch (HER's)."""
    episodes: Count = 16
    """Episodes per cycle (HER's)."""
    updates: Count = 40
    """Gradient steps per cycle (HER's)."""
    batch_size: Annotated[int, Range("be at least 2, which batch normalisation needs", lambda value: value >= 2)] = 64
    """Transitions per gradient step (App. D.2)."""
    capacity: Count = 1_000_000
    """Transitions kept, virtual ones included (App. D.1)."""

    gamma: Annotated[float, Range("lie in (0, 1)", lambda value: 0 < value < 1)] = 0.98
    """Discount (App. D.1)."""
    networks: Literal["paper", "her"] = "paper"
    """paper: 3 x 64, the critic batch-normalised (App. D.2). her: 3 x 256, not normalised, as in the code of HER."""
    lr: Positive = 1e-3
    """Adam's step size, actor and critic (App. D.2)."""
    clip: Annotated[float, Range("be positive", lambda value: value > 0, infinite=True)] = 3.0
    """Largest gradient norm (L2), actor and critic (App. D.2). inf: none."""
    tau: Share = 0.05
    """Share of the way that the target networks move to the online ones, once per cycle. HER's; App. D.1 prints 7,
    which cannot be a share."""
    action_penalty: NotNegative = 0.0
    """Weight of the actions' mean square in the actor's loss. Not in the paper; 1 in the code of HER."""
    epsilon: Share = 1.0
    """Initial probability of exploring (App. D.1)."""
    epsilon_decay: Share = 0.95
    """Factor on epsilon at the start of every epoch but the first (App. D.1)."""
    epsilon_end: Share = 0.05
    """Smallest epsilon (App. D.1)."""
    random_actions: Share = 0.2
    """Share of uniform actions among those that explore (App. D.1); the others are greedy plus noise."""
    noise: NotNegative = 0.05
    """Standard deviation of the noise, as a share of the actions' range (App. D.1)."""

    k: int = 4
    """Virtual goals drawn per transition, strategy `future` (HER's)."""
    redraw: bool = False
    """Draw another goal for one that the filter leaves out, as in Sec. 3.2.2 (Algorithm 2 skips it)."""
    end_at_success: bool = True
    """Success ends an episode, for real and for virtual goals. Otherwise virtual successes are bootstrapped, and real
    ones, too, unless the environment itself terminates, as Hand, HandWall and Robot do."""
    per_alpha: Share = 0.6
    """Exponent of priorities. Not in the paper; from Schaul et al. 2016."""
    per_beta: Share = 0.4
    """Initial exponent of the importance weights, 1 at the end of training. Not in the paper; likewise."""

    grid: Count = 10
    """Cells along each side of the grid of virtual goals. Not in the paper."""
    sigma: Positive = 2.0
    """IBS: initial standard deviation of the kernel; the screen has sides of 1 (Sec. 3.1.3, Algorithm 1)."""
    sigma_end: Positive = 0.2
    """IBS: final sigma (Fig. 2). KL(q* || q) is measured with the target distribution for this kernel."""
    sigma_decay: float = 0.9
    """IBS: factor of one decay of sigma (Sec. 3.1.3)."""
    sigma_cycles: Count = 50
    """IBS: training cycles between two decays of sigma (Sec. 3.1.3)."""
    sigma_squared: bool = False
    """IBS: read sigma and sigma_end as variances, as Secs. 3.1.2 and 3.1.3 write them."""
    floor: float = 0.002
    """IBS: smallest weight of a goal (Sec. 3.1.2)."""
    goals: Literal["uniform", "mixture", "moving"] = "uniform"
    """Distribution of real goals. uniform: the task's own. mixture: two Gaussians (App. A.1). moving: from one
    mixture to another halfway through training (App. A.2)."""

    eval_episodes: Count = 100
    """Episodes per evaluation. Not in the paper."""
    eval_every: Count = 2
    """Epochs between evaluations. Not in the paper."""

    def check(self) -> None:
        """Raise UserError for settings that cannot work together."""
        if self.redraw and not self.method.startswith("filtered"):
            raise UserError(f"redraw draws again what a filter leaves out; {self.method} has none")


def replay_bytes(config: Config) -> int:
    """Memory [bytes] of the full replay: a sweep adds up its runs before it starts them."""
    return ring_bytes(config.capacity, replay_fields(make_env(config.env)))


class Trainer:
    """The whole state of a run. Pickled between two cycles, so that an interrupted run resumes bit for bit."""

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
        self.agent = fast(AGENTS[c.networks], FAST, c.device)(
            size, task.action_space.shape[0], lr=c.lr, gamma=c.gamma, tau=c.tau, clip=c.clip,  # type: ignore[index]
            action_penalty=c.action_penalty, noise=c.noise, random_actions=c.random_actions,
            seed=streams.integer("network"), device=c.device,
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
            instruction=self.instruction, proposal=self.proposal, counting=is_fetch(task),
        )  # fmt: skip
        self._make_worlds()

    @property
    def variances(self) -> tuple[float, float, float]:
        """Initial and final variance of the kernel, and the factor of one decay."""
        power = 1 if self.config.sigma_squared else 2
        return self.config.sigma**power, self.config.sigma_end**power, self.config.sigma_decay**power

    @property
    def epsilon(self) -> float:
        epoch = self.cycles_done // self.config.cycles
        return max(self.config.epsilon * self.config.epsilon_decay**epoch, self.config.epsilon_end)

    # --- one training cycle -------------------------------------------------------------------------------------------

    def cycle(self) -> float:
        """The paper's Algorithms 1 and 2 in their order; only `hindsight` differs.

        Returns the critic's mean loss, 0 while the memory holds less than a batch.
        """
        losses, size = [], self.config.batch_size
        for e in self.play(self.worlds, self.draw(), self.explore):  # Algorithm 1, lines 13-17; Algorithm 2, lines 9-13
            goals = self.hindsight(e.achieved)  # Algorithm 1, lines 18-19, 23, 27-28; Algorithm 2, lines 17, 20-21
            self.store(e, *goals)  # Algorithm 1, lines 20-22, 24-26; Algorithm 2, lines 14-16, 18-19, 22
            self.sampler.episode(float(e.rewards.sum()))
        if len(self.memory) >= size:
            for _ in range(self.config.updates):  # Algorithm 1, line 29; Algorithm 2, line 23
                slots, weights, _ = self.sampler.sample(size)  # Algorithm 1, line 30; Algorithm 2, line 24
                losses.append(self.learn(slots, weights))  # Algorithm 1, line 31; Algorithm 2, line 25
        self.next_cycle()
        return float(np.mean(losses or [0.0]))

    def draw(self) -> np.ndarray:
        """Seeds of starts and goals for a cycle's episodes, int64 [episodes]: even; evaluation has the odd ones."""
        return 2 * self.starts.integers(2**31, size=self.config.episodes)

    def explore(self, inputs: np.ndarray) -> np.ndarray:
        """The agent's actions, with this epoch's exploration."""
        return self.agent.explore(inputs, epsilon=self.epsilon, rng=self.exploration)

    def play(self, worlds: VectorEnv, seeds: np.ndarray, act: Any, **options: Any) -> list[Episode]:
        """One episode from each seed [n], side by side until all have ended; act: scaled inputs [n, i] -> [n, a]."""
        seen, _ = worlds.reset(seed=seeds.tolist(), options=self.goals.options(seeds) | options)
        goals = seen["desired_goal"]
        states, achieved, actions, rewards = [seen["observation"]], [seen["achieved_goal"]], [], []
        length, playing, terminated = np.zeros(len(seeds), int), np.ones(len(seeds), bool), np.zeros(len(seeds), bool)
        while playing.any():
            actions.append(act(self.inputs(states[-1], goals)))
            seen, reward, end, out_of_time, _ = worlds.step(actions[-1])
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
        """Whether steps with these rewards [n] end their episode for good. Success does if `end_at_success` is set."""
        return terminated | ((rewards == 0) & self.config.end_at_success)

    def store(self, e: Episode, virtual: np.ndarray, goals: np.ndarray) -> None:
        """Store an episode under its own goal, and its steps `virtual` [n] under virtual `goals` [n, d]."""
        steps = np.arange(len(e.actions))
        real = np.broadcast_to(e.goal, (len(steps), len(e.goal)))
        self._add(e, steps, real, e.rewards, (steps == steps[-1]) & e.terminated)
        # The scale must not depend on the method: real goals, and achieved ones equally often.
        self.scale.add(np.concatenate([_joined(e.states[1:], real), _joined(e.states[1:], e.achieved[1:])]))
        if len(virtual):
            rewards = np.asarray(self.reward(e.achieved[virtual + 1], goals, None))
            self._add(e, virtual, goals, rewards, self.ends(rewards))
        self.episodes_done += 1
        self.steps_done += len(steps)
        self.virtual_done += len(virtual)

    def _add(self, e: Episode, steps: np.ndarray, goals: np.ndarray, rewards: np.ndarray, terminal: np.ndarray) -> None:
        """Store the transitions `steps` [n] of an episode under `goals` [n, d]."""
        slots = self.memory.extend(
            inputs=_joined(e.states[steps], goals), action=e.actions[steps], reward=rewards,
            next_inputs=_joined(e.states[steps + 1], goals), terminal=terminal,
        )  # fmt: skip
        self.sampler.extend(slots)

    def learn(self, slots: np.ndarray, weights: np.ndarray) -> float:
        """One gradient step on the transitions in `slots` [n]; returns the critic's loss."""
        batch: Batch[np.ndarray] = Batch(**self.memory.get(slots))
        batch = batch._replace(inputs=self.scale(batch.inputs), next_inputs=self.scale(batch.next_inputs))
        loss, td = self.agent.update(batch, weights)
        if np.isfinite(loss):  # else the run is about to be stopped
            self.sampler.update(slots, {"td_error": td})
        return loss

    def next_cycle(self) -> None:
        """Move the target networks; move the goals and narrow the kernel of IBS when it is time to."""
        c = self.config
        self.agent.average_targets()
        self.cycles_done += 1
        moved = self.goals.move_on(self.cycles_done / (c.epochs * c.cycles))
        if self.instruction is not None and self.goals.known is not None:
            if moved:
                self.instruction.set_goals(self.goals.known)
            if self.cycles_done % c.sigma_cycles == 0:
                self.instruction.anneal()

    def inputs(self, states: np.ndarray, goals: np.ndarray) -> np.ndarray:
        """Scaled inputs of the networks for states [n, o] and goals [n, d]."""
        return self.scale(_joined(states, goals))

    # --- evaluation ---------------------------------------------------------------------------------------------------

    def evaluate(self) -> dict[str, float]:
        """Metrics of the greedy policy and of the virtual goals stored so far, see measure.py."""
        rng = Streams(self.config.seed).numpy(f"evaluation at {self.episodes_done}")
        seeds = 2 * rng.integers(2**31, size=self.config.eval_episodes) + 1  # training has the even ones
        episodes = self.play(self.tests, seeds, self.agent.act)
        return measure.summary(self, episodes) | measure.kl(self) | measure.of_fetch(self, episodes)

    # --- pickling -----------------------------------------------------------------------------------------------------

    def _make_worlds(self) -> None:
        self.worlds = make_worlds(self.config.env, self.config.episodes)
        self.tests = make_worlds(self.config.env, self.config.eval_episodes)

    def __getstate__(self) -> dict[str, Any]:
        """Without the environments, which every cycle resets to new starts."""
        return {name: value for name, value in vars(self).items() if name not in ("worlds", "tests")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._make_worlds()


def _joined(states: np.ndarray, goals: np.ndarray) -> np.ndarray:
    return np.concatenate([states, goals], axis=1, dtype=np.float32)


def train(run: Run, trainer: Trainer) -> dict:
    """Train to the end; returns the last evaluation."""
    c = trainer.config
    while trainer.cycles_done < c.epochs * c.cycles:
        loss = trainer.cycle()
        run.check_finite(trainer.episodes_done, critic_loss=loss)
        run.tick(trainer.episodes_done)
        epoch, rest = divmod(trainer.cycles_done, c.cycles)
        if rest == 0 and (epoch % c.eval_every == 0 or epoch == c.epochs):
            run.log(trainer.episodes_done, trainer.evaluate())
        if rest == 0 and epoch % SAVE_EVERY == 0:
            run.save(trainer)
    metrics = run.last
    run.log(trainer.episodes_done, measure.at_the_end(trainer))
    return run.finish({"episodes": trainer.episodes_done, **metrics}, trainer.agent.weights() | trainer.scale.weights())


def main(config: Config, run_dir: Path, **options: Any) -> dict:
    """Train in ``run_dir``, or resume there; returns the summary. See `lab.run.runs.execute`."""
    total = config.epochs * config.cycles * config.episodes
    return execute(config, run_dir, train, Trainer, total=lambda _: total, unit="episode", score="success", **options)


if __name__ == "__main__":
    cli(Config, main, __doc__)
