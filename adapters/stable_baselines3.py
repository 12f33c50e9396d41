"""Any sampler in Stable-Baselines3: a replay buffer that asks it, and DQN; SAC and TD3 have files of their own.

A sampler that only needs steps works with any agent: pass the buffer as `replay_buffer_class`. One that needs TD
errors, or whose weights or targets matter, needs an agent that gives and takes them: `SampledDQN`, `SampledSAC`,
`SampledTD3`.
"""

from __future__ import annotations

import inspect
import math
import operator
import warnings
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from gymnasium import spaces
from stable_baselines3 import DQN
from stable_baselines3.common import buffers
from stable_baselines3.common.buffers import DictReplayBuffer, NStepReplayBuffer, ReplayBuffer
from stable_baselines3.common.callbacks import BaseCallback, EvalCallback
from stable_baselines3.common.monitor import Monitor

from common.replay.protocol import Chosen, Sampler, Step, missing
from common.replay.samplers import UniformSampler

Maker = Callable[..., Sampler]
"""capacity -> sampler. A function of two arguments gets the buffer as the second one: IER and LaBER take its method
`errors`; what NERS and ERO read is in stable_baselines3_scores.py."""
PLAIN = (None, ReplayBuffer, DictReplayBuffer, NStepReplayBuffer)
"""Stable-Baselines3's buffers that `SampledReplayBuffer` can replace."""
AGENTS = "take SampledDQN, SampledSAC or SampledTD3"
ADVICE = {
    "values": "it works only with the double DQN of papers/ter",
    "ratio": "it works only with the policies of papers/ref_er",
    "step": "relabelled transitions are not steps of an episode: take another buffer, or another sampler",
    "evaluation": f"{AGENTS}, and Evaluations as callback",
}


class Samples(NamedTuple):
    """Stable-Baselines3's ReplayBufferSamples, all [n, ...], and two columns [n, 1] from the sampler."""

    observations: Any
    actions: torch.Tensor
    next_observations: Any
    dones: torch.Tensor
    rewards: torch.Tensor
    discounts: torch.Tensor | None
    """Factors of the next values; None: gamma."""
    weights: torch.Tensor
    targets: torch.Tensor | None


def each(function: Callable, *values: Any) -> Any:
    """Return function(*values), or a dictionary of its results if the values are dictionaries."""
    if isinstance(values[0], dict):
        return {key: function(*(value[key] for value in values)) for key in values[0]}
    return function(*values)


class SampledReplayBuffer(ReplayBuffer):
    """A replay buffer that asks a sampler. Observations may be dictionaries.

    make_sampler: see `Maker`. The sampler hears of every step of every environment, and of every episode's return:
    `Monitor`'s, or else the sum of rewards. n_steps, gamma: of n-step returns, which stop where an episode ends, where
    the collector has reset without an end, and at the newest step. learner: the agent, if it gives and takes what
    samplers need. ValueError for a sampler that needs more than it can get.
    """

    gives: ClassVar = frozenset({"step", "episode"})

    def __init__(
        self,
        buffer_size: int,
        observation_space: spaces.Space,
        action_space: spaces.Space,
        device: torch.device | str = "auto",
        n_envs: int = 1,
        optimize_memory_usage: bool = False,
        handle_timeout_termination: bool = True,
        *,
        make_sampler: Maker,
        n_steps: int = 1,
        gamma: float = 0.99,
        learner: Any = None,
    ):
        super(ReplayBuffer, self).__init__(buffer_size, observation_space, action_space, device, n_envs)
        if optimize_memory_usage:
            raise ValueError(
                "optimize_memory_usage loses the last observation of every episode: leave it False; for pictures, take "
                "FrameReplayBuffer of stable_baselines3_pictures.py as replay_buffer_class"
            )
        self.optimize_memory_usage, self.handle_timeout_termination = False, handle_timeout_termination
        self.buffer_size = max(buffer_size // n_envs, 1)
        self.n_steps, self.gamma, self.learner = n_steps, gamma, learner
        self.lanes = n_envs
        """Transition t of environment e is in row t, lane e, and for the sampler in slot t lanes + e."""
        shape, actions = (self.buffer_size, self.lanes), self._maybe_cast_dtype(action_space.dtype)
        self.observations, self.next_observations = self._columns(shape)
        self.actions = np.zeros((*shape, self.action_dim), actions)
        self.rewards, self.dones, self.timeouts = (np.zeros(shape, np.float32) for _ in range(3))
        self.ages = np.zeros(shape, np.int64)
        """Steps of the episode before each transition."""
        self.apart = np.zeros(shape, bool)
        """Whether the environment's next step belonged to another episode."""
        self.reached: Any = None
        """Observations after the newest steps."""
        env = getattr(learner, "env", None)
        self.ended, self.monitored = np.ones(n_envs, bool), env is not None and any(env.env_is_wrapped(Monitor))
        self.age, self.returned = np.zeros(n_envs, np.int64), np.zeros(n_envs)
        """Steps and sum of rewards in the running episodes."""
        self.indices = np.empty(0, np.int64)
        """Slots of the last batch."""
        parameters = inspect.signature(make_sampler).parameters.values()
        asked = [p for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
        self.sampler = make_sampler(*(self.buffer_size * self.lanes, self)[: 1 + (len(asked) > 1)])
        self.check()

    def check(self) -> None:
        """ValueError for a sampler that needs more than buffer and learner give."""
        given = self.gives | (self.learner.gives if self.learner is not None else frozenset())
        if lacking := missing(self.sampler, given):
            advice = next((ADVICE[need] for need in lacking if need in ADVICE), AGENTS)
            raise ValueError(f"{type(self.sampler).__name__} needs {', '.join(lacking)}, which is not given: {advice}")

    def _columns(self, shape: tuple[int, int]) -> tuple[Any, Any]:
        """Room for observations and next observations, each [rows, environments, ...] or a dictionary of such.

        Warns, as Stable-Baselines3 does, if they will not fit: memory is only taken as it fills, long after this.
        """
        space: Any = self.observation_space.spaces if isinstance(self.observation_space, spaces.Dict) else None
        kinds = self.observation_space.dtype if space is None else {key: one.dtype for key, one in space.items()}
        sizes: Any = each(lambda of, kind: 2 * math.prod((*shape, *of)) * kind.itemsize, self.obs_shape, kinds)
        size = sum(sizes.values()) if isinstance(sizes, dict) else sizes
        if buffers.psutil is not None and size > (free := buffers.psutil.virtual_memory().available):
            warnings.warn(
                f"observations will take {size / 1e9:.1f} GB, of {free / 1e9:.1f} GB free: lower buffer_size, or take "
                "what stable_baselines3_pictures.py has for pictures",
                stacklevel=2,
            )
        first, second = (each(lambda of, kind: np.zeros((*shape, *of), kind), self.obs_shape, kinds) for _ in range(2))
        return first, second

    def add(self, obs, next_obs, action, reward, done, infos) -> None:
        obs, next_obs = self._shaped(obs), self._shaped(next_obs)
        reward, done = np.reshape(reward, self.n_envs), np.reshape(done, self.n_envs)
        self.apart[self.pos - 1] |= self._follow(obs, next_obs, reward, done)
        timeouts = [self.handle_timeout_termination and bool(info.get("TimeLimit.truncated", False)) for info in infos]
        row = self._store(obs, next_obs, action, reward, done, timeouts)
        self.ages[row] = self.age - 1
        for e, cut in enumerate(timeouts):
            at, to = (each(operator.itemgetter(e), values) for values in (obs, self.reached))
            step = Step(at, action[e], float(reward[e]), to, bool(done[e]) and not cut, cut, e)
            self.sampler.add(row * self.lanes + e, step)
            self._tell_return(e, bool(done[e]), infos[e])

    def _shaped(self, obs: Any) -> Any:
        """Observations [environments, *shape]: numbers of discrete spaces come without their last axis."""
        return each(lambda value, of: np.asarray(value).reshape(self.n_envs, *of), obs, self.obs_shape)

    def _follow(self, obs: Any, next_obs: Any, reward: np.ndarray, done: np.ndarray) -> np.ndarray:
        """Keep track of the episodes; return which environments were reset without an end: bool [environments]."""
        follows = np.ones(self.n_envs, bool)
        if self.reached is not None:
            same = each(lambda a, b: (a == b).reshape(self.n_envs, -1).all(axis=1), obs, self.reached)
            follows = np.logical_and.reduce(list(same.values()) if isinstance(same, dict) else [same])
        goes_on = follows & ~self.ended
        self.age, self.returned = self.age * goes_on + 1, self.returned * goes_on + reward
        broken, self.ended, self.reached = ~follows & ~self.ended, np.array(done, bool), each(np.copy, next_obs)
        return broken

    def _store(self, obs: Any, next_obs: Any, action: Any, reward: Any, done: Any, timeouts: Any) -> int:
        """Write a row, all values [lanes, ...]; return its number."""
        row = self.pos
        for columns, values in ((self.observations, obs), (self.next_observations, next_obs)):
            each(lambda column, value: column.__setitem__(row, value), columns, values)
        self.actions[row] = np.reshape(action, (self.lanes, self.action_dim))
        self.rewards[row], self.dones[row], self.timeouts[row], self.apart[row] = reward, done, timeouts, done
        self.pos, self.full = (row + 1) % self.buffer_size, self.full or row + 1 == self.buffer_size
        return row

    def _tell_return(self, e: int, done: bool, info: dict[str, Any]) -> None:
        """Tell the sampler the return of a finished episode. Losing a life is `done`, but not the end for `Monitor`."""
        if "episode" in info:
            self.monitored = True
            self.sampler.episode(float(info["episode"]["r"]))
        elif done and not self.monitored:
            self.sampler.episode(float(self.returned[e]))

    def cut(self) -> None:
        """The environments are about to be reset: end all running episodes."""
        self.apart[self.pos - 1] |= ~self.ended
        self.ended[:] = True
        self.sampler.cut()

    def reset(self) -> None:
        """ValueError: the sampler would still draw what is gone."""
        raise ValueError("a sampler cannot forget: to begin with an empty memory, save the agent and load it")

    def sample(self, batch_size: int, env=None) -> Samples:
        """As in Stable-Baselines3. ValueError while the sampler waits; the agents here wait with it."""
        batch = self.draw(batch_size, env)
        if batch is None:
            raise ValueError(f"{type(self.sampler).__name__} has nothing to replay yet: raise learning_starts")
        return batch

    def draw(self, batch_size: int, env=None) -> Samples | None:
        """Return the batch that the sampler chooses; None while it waits."""
        chosen: Chosen | None = self.sampler.sample(batch_size)
        if chosen is None:
            return None
        self.indices = chosen.indices
        targets = None if chosen.targets is None else self.to_torch(chosen.targets.reshape(-1, 1))
        weights = self.to_torch(chosen.weights.reshape(-1, 1))
        return self.batch(chosen.indices, env)._replace(weights=weights, targets=targets)

    def batch(self, slots: np.ndarray, env=None) -> Samples:
        """Return the transitions in `slots` [n] with their n-step returns; all weights are 1."""
        row, e = np.divmod(slots, self.lanes)
        steps = (row[:, None] + np.arange(self.n_steps)) % self.buffer_size
        ends = self.apart[steps, e[:, None]] | (steps == (self.pos - 1) % self.buffer_size)
        ends[:, -1] = True
        last = ends.argmax(axis=1)
        powers = self.gamma ** np.arange(self.n_steps + 1, dtype=np.float32)
        rewards = self._normalize_reward(self.rewards[steps, e[:, None]], env)
        rewards = (rewards * powers[:-1] * (np.arange(self.n_steps) <= last[:, None])).sum(axis=1, dtype=np.float32)
        end = steps[np.arange(len(slots)), last]
        over = self.dones[end, e] * (1 - self.timeouts[end, e])
        obs, after = each(lambda a: a[row, e], self.observations), each(lambda a: a[end, e], self.next_observations)
        columns = (over, rewards, powers[last + 1], np.ones(len(slots), np.float32))
        dones, rewards, discounts, weights = (self.to_torch(column.reshape(-1, 1)) for column in columns)
        return Samples(
            each(self.to_torch, self._normalize_obs(obs, env)), self.to_torch(self.actions[row, e]),
            each(self.to_torch, self._normalize_obs(after, env)), dones, rewards,
            discounts if self.n_steps > 1 else None, weights, None,
        )  # fmt: skip

    def errors(self, slots: np.ndarray) -> np.ndarray:
        """|TD errors| float32 [n] of the transitions in `slots` [n] by the learner's current networks."""
        return self.learner.errors(self.batch(slots, self.learner.get_vec_normalize_env()))

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"learner": None}


class Evaluations(EvalCallback):
    """Stable-Baselines3's EvalCallback, which also tells the sampler the mean returns."""

    def _on_step(self) -> bool:
        goes_on = super()._on_step()
        if self.eval_freq > 0 and self.n_calls % self.eval_freq == 0:
            self.model.replay_buffer.sampler.evaluation(self.last_mean_reward)  # type: ignore[attr-defined]
        return goes_on


def callbacks(one: Any) -> Iterator[BaseCallback]:
    """Yield a callback and those inside it."""
    yield one
    for inner in getattr(one, "callbacks", [getattr(one, "callback", None)]):
        if isinstance(inner, BaseCallback):
            yield from callbacks(inner)


class Sampled:
    """What the three agents share: a base class besides Stable-Baselines3's own.

    make_sampler: see `Maker`; None for uniform replay by `seed`. Saved files hold it, but `load(..., make_sampler=...)`
    takes precedence; files of Stable-Baselines3's own agents can be loaded. replay_buffer_class: `SampledReplayBuffer`,
    or a subclass.
    """

    gives: ClassVar = frozenset({"td_error", "q", "target", "target_td_error", "errors", "evaluation"})

    def __init__(self, *args: Any, make_sampler: Maker | None = None, **kwargs: Any):
        self.make_sampler = make_sampler
        self.sampler_name = ""
        """Name of the sampler's class, for files."""
        super().__init__(*args, **kwargs)

    @classmethod
    def load(cls, path: Any, *args: Any, **kwargs: Any) -> Any:
        if "make_sampler" in kwargs:  # then the file's need not be read
            kwargs["custom_objects"] = {"make_sampler": kwargs["make_sampler"], **(kwargs.get("custom_objects") or {})}
        return super().load(path, *args, **kwargs)  # type: ignore[misc]

    def _setup_model(self) -> None:
        own: Any = self
        if own.replay_buffer is None:
            own.replay_buffer = self._make_buffer()
        else:  # from a file saved with include=["replay_buffer"]
            self._adopt(own.replay_buffer)
        # Stable-Baselines3 must not read these settings: it would make, or warn about, a buffer of its own.
        hidden = {"replay_buffer_class": None, "replay_buffer_kwargs": {}, "n_steps": 1}
        before = {name: getattr(own, name) for name in hidden}
        own.__dict__.update(hidden)
        super()._setup_model()  # type: ignore[misc]
        own.__dict__.update(before)

    def _make_buffer(self) -> SampledReplayBuffer:
        own: Any = self
        kind = SampledReplayBuffer if own.replay_buffer_class in PLAIN else own.replay_buffer_class
        if not issubclass(kind, SampledReplayBuffer):
            raise ValueError(
                f"replay_buffer_class must be SampledReplayBuffer or a subclass, such as SampledHerReplayBuffer of "
                f"stable_baselines3_her.py, not {kind.__name__}"
            )
        settings = {"make_sampler": self._uniform, **own.replay_buffer_kwargs}
        if self.make_sampler is not None:
            settings["make_sampler"] = self.make_sampler
        elif self.sampler_name not in ("", "UniformSampler") and "make_sampler" not in own.replay_buffer_kwargs:
            raise ValueError(f"the file's {self.sampler_name} cannot be read: load it with make_sampler=...")
        settings |= {"n_steps": own.n_steps, "gamma": own.gamma, "learner": self}
        buffer = kind(own.buffer_size, own.observation_space, own.action_space, own.device, own.n_envs,
                      own.optimize_memory_usage, **settings)  # fmt: skip
        self.sampler_name = type(buffer.sampler).__name__
        return buffer

    def _uniform(self, capacity: int) -> Sampler:
        """Uniform replay as in Stable-Baselines3, with its own random stream."""
        return UniformSampler(np.random.default_rng(self.seed))  # type: ignore[attr-defined]

    def _init_callback(self, callback: Any, progress_bar: bool = False) -> BaseCallback:
        made = super()._init_callback(callback, progress_bar)  # type: ignore[misc]
        sampler = self.replay_buffer.sampler  # type: ignore[attr-defined]
        if "evaluation" in sampler.needs and not any(isinstance(one, Evaluations) for one in callbacks(made)):
            raise ValueError(
                f"{type(sampler).__name__} learns from evaluations: learn(callback=Evaluations(env, eval_freq=...))"
            )
        return made

    def _setup_learn(self, *args: Any, **kwargs: Any) -> Any:
        own: Any = self
        before = own._last_obs
        done = super()._setup_learn(*args, **kwargs)  # type: ignore[misc]
        if own._last_obs is not before:
            own.replay_buffer.cut()
        return done

    def load_replay_buffer(self, path: Any, truncate_last_traj: bool = True) -> None:
        own: Any = self
        before = own.replay_buffer
        super().load_replay_buffer(path, truncate_last_traj)  # type: ignore[misc]
        try:
            self._adopt(own.replay_buffer)
        except ValueError:
            own.replay_buffer = before
            raise

    def _adopt(self, buffer: Any) -> None:
        """Make a memory from a file this agent's own. ValueError if it does not fit."""
        if not isinstance(buffer, SampledReplayBuffer):
            raise ValueError(f"the file holds a {type(buffer).__name__}: only a SampledReplayBuffer has a sampler")
        own: Any = self
        for name in ("observation_space", "action_space", "n_envs"):
            if (its := getattr(buffer, name)) != (mine := getattr(own, name)):
                raise ValueError(f"the file's memory has {name} {its}, the agent {mine}: they must be the same")
        buffer.learner, buffer.device, buffer.n_steps, buffer.gamma = self, own.device, own.n_steps, own.gamma
        buffer.check()

    def batches(self, gradient_steps: int, batch_size: int) -> Iterator[Any]:
        """Yield `gradient_steps` batches, or fewer if the sampler waits."""
        own: Any = self
        for _ in range(gradient_steps):
            if (batch := own.replay_buffer.draw(batch_size, own.get_vec_normalize_env())) is None:
                return
            yield batch

    def target_of(self, batch: Samples) -> torch.Tensor:
        """What Q(s, a) is moved towards, [n, 1]."""
        raise NotImplementedError

    def q_of(self, batch: Samples, target_network: bool = False) -> torch.Tensor:
        """Q(s, a), [n, critics]."""
        raise NotImplementedError

    @torch.no_grad()
    def errors(self, batch: Samples) -> np.ndarray:
        """|TD errors| [n], the mean over critics. The networks are in evaluation mode: nothing in them changes."""
        policy: Any = self.policy  # type: ignore[attr-defined]
        mode = policy.training
        policy.set_training_mode(False)
        found = (self.target_of(batch) - self.q_of(batch)).abs().mean(dim=1).cpu().numpy()
        policy.set_training_mode(mode)
        return found

    def tell(self, batch: Samples, target: torch.Tensor, q: torch.Tensor, older: torch.Tensor | None) -> None:
        """Tell the sampler the results of the last batch; of two critics, the mean counts."""
        buffer: Any = self.replay_buffer  # type: ignore[attr-defined]
        found = {"q": q, "target": target, "td_error": (target - q).abs()}
        if older is not None:
            found["target_td_error"] = (target - older).abs()
        found = {name: column.detach().mean(dim=1).cpu().numpy() for name, column in found.items()}
        buffer.sampler.update(buffer.indices, found)

    def older_of(self, batch: Samples) -> torch.Tensor | None:
        """Q(s, a) by the target network, if the sampler reads it."""
        needed = "target_td_error" in self.replay_buffer.sampler.needs  # type: ignore[attr-defined]
        return self.q_of(batch, target_network=True) if needed else None

    def discounts(self, batch: Samples) -> Any:
        """Factor of the next values: gamma, or its powers for n-step returns."""
        return self.gamma if batch.discounts is None else batch.discounts  # type: ignore[attr-defined]


def minimise(optimizer: torch.optim.Optimizer, loss: torch.Tensor) -> None:
    """Take one gradient step."""
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


class SampledDQN(Sampled, DQN):
    """DQN whose losses use the sampler's weights, and targets if it has its own; the sampler hears the results."""

    gives: ClassVar = Sampled.gives | {"targets"}

    def target_of(self, batch: Samples) -> torch.Tensor:
        following = self.q_net_target(batch.next_observations).max(dim=1, keepdim=True).values
        return batch.rewards + (1 - batch.dones) * self.discounts(batch) * following

    def q_of(self, batch: Samples, target_network: bool = False) -> torch.Tensor:
        network = self.q_net_target if target_network else self.q_net
        return network(batch.observations).gather(1, batch.actions.long())

    def train(self, gradient_steps: int, batch_size: int = 100) -> None:
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        for batch in self.batches(gradient_steps, batch_size):
            with torch.no_grad():
                target, older = self.target_of(batch), self.older_of(batch)
                target = target if batch.targets is None else batch.targets
            q = self.q_of(batch)
            loss = (batch.weights * F.smooth_l1_loss(q, target, reduction="none")).mean()
            self.policy.optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.policy.parameters(), self.max_grad_norm)
            self.policy.optimizer.step()
            self.tell(batch, target, q, older)
            self._n_updates += 1
            self.logger.record_mean("train/loss", loss.item())
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")

    def _on_step(self) -> None:
        super()._on_step()
        if self._n_calls % max(self.target_update_interval // self.n_envs, 1) == 0:
            self.replay_buffer.sampler.synced()  # type: ignore[union-attr]
