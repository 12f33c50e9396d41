"""Training PPO with Sibling Rivalry on the point maze: against the same algorithm in plain PyTorch (plain_ppo.py), and
against the PPO of Stable-Baselines3.

An epoch is 50 updates, each of 80 episodes and 16 gradient steps. Updates of the first epoch are timed and scaled up;
no episode reaches the goal then, so each has its full 50 steps.

Stable-Baselines3 plays 16 copies of the same maze for 250 steps each, which gives as many transitions, and makes as
many gradient steps, with hidden layers of the same sizes. It gets observation and goal as one vector. Its Gaussian
actions are cheaper than our Beta, and its critic sees no anti-goal; on the other hand, it learns from every episode,
clips gradients, measures how far the policy moves, and evaluates the states in which episodes were cut off. SBX is the
same in JAX.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import Any

import gymnasium
import numpy as np
from torch import nn

from benchmarks.fast_peers import Peers, beside
from benchmarks.floor import matmul_rate
from benchmarks.plain_ppo import PlainRivalry
from benchmarks.rows import Row
from benchmarks.timing import Stopwatch, clock, interleaved
from envs.maze.point_maze import point_maze
from lab.run.errors import UserError
from papers.sibling_rivalry.train import Config, Trainer, of_task

try:
    with contextlib.redirect_stderr(io.StringIO()):  # gym, if installed, announces its successor
        import stable_baselines3 as sb3
        from stable_baselines3.common.vec_env import DummyVecEnv
except ImportError as error:
    missing = error.name or "stable_baselines3"
    raise UserError(f"make bench needs {missing}: .venv/bin/pip install --group bench") from None

EPOCH_LIMIT = 6.0  # s
STEP_LIMIT = 1 / 5  # of Stable-Baselines3: five times its steps per second
UPDATES, ROUNDS = 4, 9  # 40 updates with the discarded round: less than an epoch
PEER_ENVS = 16
UNLIKE = "learns from every episode, which ours does not; its policy is Gaussian and its critic sees no anti-goal"


def measure() -> list[Row]:
    with Peers() as peers:
        return _measure(peers)


def _measure(peers: Peers) -> list[Row]:
    config = Config()
    trainer, plain = Trainer(config), PlainRivalry(point_maze(), seed=0)
    fused, default = make_peer(config, {"fused": True}), make_peer(config, {})
    steps = config.rollouts * trainer.task.max_steps  # of an update
    entries: list[dict[str, float]] = []
    sbx: dict[str, Any] = dict(
        algorithm="PPO", make_env="benchmarks.sibling_rivalry.flat_maze", env="envs:PointMaze-v0", n_envs=PEER_ENVS,
        settings=settings_of_peer(config), steps=UPDATES * steps,
    )  # fmt: skip
    seconds = interleaved(
        {
            "ours": _per_update(lambda: entries.append(trainer.update())),
            "plain": _per_update(plain.update),
            "SB3": _per_update(lambda: learn(fused, steps)),
            "SB3, its defaults": _per_update(lambda: learn(default, steps)),
            "rate": matmul_rate(),
            **peers.tasks({"SBX": ("sbx", sbx)}),
        },
        ROUNDS,
    )
    rate = seconds.pop("rate")
    us = {name: value if name == "SBX" else value / steps * 1e6 for name, value in seconds.items()}
    kept, success = (float(np.mean([entry[name] for entry in entries])) for name in ("kept", "train_success"))
    flops = operations(trainer, kept)
    floor = flops / rate * 1e6
    agent = trainer.agent
    ours_parts = [
        (trainer, "play", "playing"), (agent, "act", "of that the policy"), (trainer.task, "step", "and the maze"),
        (trainer, "experience", "rewards, values and advantages"), (agent, "learn", "gradient steps"),
    ]  # fmt: skip
    epoch_note = (
        f"scaled up from {len(entries)} updates, in which {success:.1%} of the episodes reached the goal and "
        f"{kept:.0%} were learnt from. {_where(trainer.update, steps, ours_parts)}"
    )
    peer_parts = [
        (fused, "collect_rollouts", "playing"), (fused.env, "step", "of that the environments"),
        (fused, "train", "gradient steps"),
    ]  # fmt: skip
    peer_note = f"the peer's {_where(lambda: learn(fused, steps), steps, peer_parts)}"
    floor_note = (
        f"{flops / 1e6:.2f} million operations per environment step, at the {rate / 1e9:.0f} GFLOP/s that large dense "
        f"float32 matrix products reached on this core in the same rounds; {floor / us['SB3']:.0%} of SB3's step"
    )
    epoch, plain_epoch = (seconds[name] * trainer.settings.updates for name in ("ours", "plain"))
    what, default_note = "ppo-sr: step", "its Adam is not fused"
    return [
        Row("ppo-sr: epoch", epoch, "s", plain_epoch, "plain PyTorch", EPOCH_LIMIT, "ours", epoch_note),
        *beside(
            Row(what, us["ours"], "us", us["SB3"], "SB3", STEP_LIMIT, note=peer_note, unlike=UNLIKE),
            us, [("SBX", UNLIKE, "gradient steps compiled by XLA")],
        ),
        Row(what, us["ours"], "us", us["SB3, its defaults"], "SB3, its defaults", note=default_note),
        Row(what, us["ours"], "us", floor, "arithmetic floor", note=floor_note),
    ]  # fmt: skip


def _per_update(update: Callable[[], object]) -> Callable[[], float]:
    """A task for `interleaved`: seconds per update."""

    def task() -> float:
        begin = clock()
        for _ in range(UPDATES):
            update()
        return (clock() - begin) / UPDATES

    return task


def _where(update: Callable[[], object], steps: int, parts: Iterable[tuple[Any, str, str]]) -> str:
    """Microseconds per environment step that an update of `steps` steps spends in some objects' methods."""
    with ExitStack() as stack:
        watches = [(text, stack.enter_context(Stopwatch(owner, method))) for owner, method, text in parts]
        for _ in range(UPDATES):
            update()
    return "us per step: " + ", ".join(f"{text} {watch.seconds / UPDATES / steps * 1e6:.1f}" for text, watch in watches)


def operations(trainer: Trainer, kept: float) -> float:
    """Floating-point operations per environment step that no implementation can avoid, assuming full episodes.

    The policy sees each state once, to act. States of rollouts that are learnt from, a share `kept`, pass once through
    the critic and then, in every epoch, through both networks, forward and backward. A product and its sum count as two
    operations; biases, activations, densities and the optimiser as none.
    """
    networks = trainer.agent.policy, trainer.agent.critic
    policy, critic = ([2 * p.numel() for p in network.parameters() if p.dim() > 1] for network in networks)
    # Forward costs 1, the gradients of the weights 1 and those of the inputs 1, which the first layer's need not.
    gradient = 3 * (sum(policy) + sum(critic)) - policy[0] - critic[0]
    return sum(policy) + kept * (sum(critic) + trainer.settings.ppo_epochs * gradient)


# ---- Stable-Baselines3 -----------------------------------------------------------------------------------------------


class FlatGoalEnv(gymnasium.ObservationWrapper):
    """Observation and goal as one vector, which the peer handles faster than a dictionary or gymnasium's wrappers."""

    def __init__(self, env: gymnasium.Env):
        super().__init__(env)
        spaces: Any = env.observation_space
        low, high = ({name: getattr(space, end) for name, space in spaces.items()} for end in ("low", "high"))
        self.observation_space = gymnasium.spaces.Box(self.observation(low), self.observation(high), dtype=np.float32)

    def observation(self, observation: dict[str, np.ndarray]) -> np.ndarray:
        return np.concatenate([observation["observation"], observation["desired_goal"]])


def flat_maze(env: str = "envs:PointMaze-v0") -> gymnasium.Env:
    return FlatGoalEnv(gymnasium.make(env, disable_env_checker=True))


def settings_of_peer(config: Config) -> dict[str, Any]:
    """Arguments of PPO with which it has as much to do as ours."""
    transitions, settings = config.rollouts * point_maze().max_steps, of_task(config, point_maze())
    return dict(
        learning_rate=config.lr, n_steps=transitions // PEER_ENVS, batch_size=transitions // config.minibatches,
        n_epochs=settings.ppo_epochs, gamma=1.0, gae_lambda=config.gae_lambda, ent_coef=settings.entropy,
        policy_kwargs={"net_arch": [128, 128, 128]},
    )  # fmt: skip


def make_peer(config: Config, adam: dict[str, Any]) -> Any:
    """Stable-Baselines3's PPO. adam: arguments of its optimiser."""
    settings = settings_of_peer(config)
    settings["policy_kwargs"] |= {"activation_fn": nn.ReLU, "optimizer_kwargs": adam}
    return sb3.PPO("MlpPolicy", DummyVecEnv([flat_maze] * PEER_ENVS), seed=0, device="cpu", **settings)


def learn(peer: Any, steps: int) -> None:
    """Play the `steps` environment steps of one update, and make the update."""
    peer.learn(steps, reset_num_timesteps=False, log_interval=None)  # None: no log
