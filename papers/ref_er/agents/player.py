"""Play a task step by step with a Gaussian policy, until an episode ends and can be stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from papers.ref_er.agents.gaussian import truncated_normal
from papers.ref_er.agents.tasks import make_env, to_env
from papers.ref_er.memory.episode import Episode, seen

Act = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, float]]
"""State [n], or window of states, -> mean [d] and deviation [d] of the policy, and the value of the state (0 where a
method has none)."""


class WhiteNoise:
    """Independent draws from the truncated normal distribution, in units of the policy's deviation."""

    def __init__(self, rng: np.random.Generator):
        self.rng = rng

    def __call__(self, std: np.ndarray) -> np.ndarray:
        return std * truncated_normal(self.rng, len(std))

    def reset(self) -> None:
        """A new episode begins."""


class OrnsteinUhlenbeck(WhiteNoise):
    """Temporally correlated noise e <- (1 - theta) e + std z, from e = 0 at the start of an episode (App. A, DDPG)."""

    def __init__(self, rng: np.random.Generator, theta: float):
        super().__init__(rng)
        self.theta, self.noise = theta, np.zeros(1)

    def __call__(self, std: np.ndarray) -> np.ndarray:
        self.noise = (1.0 - self.theta) * self.noise + super().__call__(std)
        return self.noise

    def reset(self) -> None:
        self.noise = np.zeros(1)


def sizes(env: Any) -> tuple[int, int, int]:
    """Components of a state and of an action, and the time limit in steps."""
    return env.observation_space.shape[0], env.action_space.shape[0], env.spec.max_episode_steps


class Player:
    """One task being played. Pickling works between two episodes only, and keeps all that later ones depend on.

    name: of the task; starts: random numbers of the initial states; noise: added to the policy's mean; window: how many
    states a recurrent policy sees; 0: the policy sees only the last one.
    """

    def __init__(self, name: str, starts: np.random.Generator, noise: WhiteNoise, window: int = 0):
        self.name, self.starts, self.noise, self.window = name, starts, noise, window
        self.env = make_env(name)
        self.episode = Episode()
        """The current one; empty between two."""

    @property
    def sizes(self) -> tuple[int, int, int]:
        return sizes(self.env)

    def step(self, act: Act, scale: Callable[[np.ndarray], np.ndarray]) -> Episode | None:
        """Take one step (Algorithm 2); returns the episode if it ended. `scale` standardises states."""
        episode, env = self.episode, self.env
        if not episode.states:
            self.noise.reset()
            episode.states.append(scale(env.reset(seed=int(self.starts.integers(2**31)))[0]))
        mean, std, value = act(seen(episode.states, self.window))
        action = mean + self.noise(std)
        following, reward, terminated, truncated, _ = env.step(to_env(action, env.action_space))  # type: ignore[arg-type]
        episode.actions.append(action)
        episode.means.append(mean)
        episode.stds.append(std)
        episode.values.append(value)
        episode.rewards.append(float(reward))
        episode.states.append(scale(following))
        if not terminated and not truncated:
            return None
        episode.terminated = bool(terminated)
        episode.values.append(0.0 if terminated else act(seen(episode.states, self.window))[2])  # Algorithm 2, remark 2
        self.episode = Episode()
        return episode

    def __getstate__(self) -> dict[str, Any]:
        if self.episode.states:
            raise RuntimeError("a player is pickled between two episodes: the simulator's state is not kept")
        return {name: value for name, value in self.__dict__.items() if name != "env"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.env = make_env(self.name)


def ending_statistics(endings: list[tuple[bool, int, float]]) -> dict[str, float]:
    """Metrics of the flow task, whose return is dominated by exits (see `Episode.ending`): exits per action, and
    the mean squared norm of an action in the policy's units."""
    if not endings:
        return {}
    exits, steps, effort = zip(*endings)
    return {"exits": sum(exits) / sum(steps), "effort": sum(effort) / sum(steps)}


def return_statistics(returns: list[float]) -> dict[str, float]:
    """Metrics of the episodes that ended since the last evaluation: number, mean return, deciles of returns.

    From the deciles of several runs, figures estimate percentiles over all of their episodes together.
    """
    if not returns:
        return {"episodes": 0}
    deciles = np.percentile(returns, np.arange(0, 101, 10))
    values = {f"return p{10 * k}": float(f"{value:.6g}") for k, value in enumerate(deciles)}
    return {"episodes": len(returns), "return": float(np.mean(returns)), **values}
