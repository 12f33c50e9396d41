"""HER on FetchPush in the protocol of HER's authors: time per environment step, against the physics alone, against the
physics and the arithmetic that no implementation can avoid, and against Stable-Baselines3's DDPG with HerReplayBuffer.

Both play 16 episodes side by side and make 40 gradient steps of batch 256 per 800 environment steps, with three hidden
layers of 256; benchmarks/fetch_curves.md says what is not equal. Both compute their actions and then take random ones:
what a step of the physics costs depends on what touches what.
"""

import contextlib
import io
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from unittest.mock import patch

import mujoco
import numpy as np

from benchmarks import fetch_curves
from benchmarks.fetch_curves import LENGTH
from benchmarks.fetch_reach import register
from benchmarks.floor import matmul_rate
from benchmarks.her_training import sb3
from benchmarks.rows import Row
from benchmarks.timing import Stopwatch, clock, interleaved, per_call
from envs import fetch
from papers.bias_reduced_her.train_fetch import Config, Trainer

register()  # here: a missing package is noticed before anything is measured
ENV = "FetchPush"
STEP_LIMIT, TRAIN_LIMIT, PEER_LIMIT = 1.15, 1.2, 0.5
EPISODES, ROUNDS = 16, 5
"""Side by side, and how often all is measured."""
CYCLE = EPISODES * LENGTH
"""Environment steps between gradient steps."""
PEER_CAPACITY = 1_000_000


def measure() -> list[Row]:
    env = fetch.make(f"{ENV}-v4")
    actions = np.random.default_rng(0).uniform(-1, 1, (LENGTH, EPISODES, 4)).astype(np.float32)
    trainer = made(Config(env=ENV))
    tasks = {
        "physics": _physics(env, actions), "step": _in_lock_step(env, actions), "package": _one_by_one(env, actions),
        "her": _ours(trainer), "SB3": _peer(trainer.config),
    }  # fmt: skip
    us = interleaved(tasks | {"rate": matmul_rate()}, ROUNDS)
    rate = us.pop("rate")
    flops = operations(trainer)
    products = flops / rate * 1e6
    floor = us["physics"] + products
    where = (
        f"{products:.0f} us of the floor are {flops / 1e6:.1f} million operations at the {rate / 1e9:.0f} GFLOP/s of "
        f"PyTorch's large dense float32 matrix products in the same rounds: it is {floor / us['physics']:.2f} times "
        "the physics"
    )
    shares = ", ".join(f"{text} {share:.0f}" for text, share in _where(trainer).items())
    return [
        Row("FetchPush: step of an episode", us["step"], "us", us["physics"], "physics alone", STEP_LIMIT),
        Row("FetchPush: step of an episode", us["step"], "us", us["package"], "gymnasium-robotics, one by one"),
        Row("her: step", us["her"], "us", us["physics"], "physics alone", note=f"us per step: {shares}"),
        Row("her: step", us["her"], "us", floor, "physics and arithmetic floor", TRAIN_LIMIT, note=where),
        Row("her: step", us["her"], "us", us["SB3"], "SB3", PEER_LIMIT),
    ]


def made(config: Config) -> Trainer:
    """A trainer that has trained for a cycle."""
    with contextlib.redirect_stdout(io.StringIO()):  # the size of its memory
        trainer = Trainer(config)
    trainer.cycle()
    return trainer


def _physics(env: Any, actions: np.ndarray) -> Callable[[], float]:
    """A task for `interleaved`: microseconds per step of MuJoCo's `mj_step` alone, of 16 episodes in turn."""
    envs = fetch.FetchVector(env, EPISODES)

    def task() -> float:
        envs.reset(seed=0)
        with physics_watch() as watch:
            for action in actions:
                envs.step(action)
        return watch() / actions[..., 0].size * 1e6

    return task


@contextlib.contextmanager
def physics_watch() -> Iterator[Callable[[], float]]:
    """Within a ``with`` statement: a function that says how many seconds MuJoCo's steps have taken."""
    seconds, original = 0.0, mujoco.mj_step

    def timed(*args: Any, **kwargs: Any) -> None:
        nonlocal seconds
        begin = clock()
        original(*args, **kwargs)
        seconds += clock() - begin

    with patch.object(mujoco, "mj_step", timed):
        yield lambda: seconds


def _in_lock_step(env: Any, actions: np.ndarray) -> Callable[[], float]:
    """The same for all of the step."""
    envs = fetch.FetchVector(env, EPISODES)

    def task() -> float:
        envs.reset(seed=0)
        return per_call(lambda: [envs.step(action) for action in actions], 1, actions[..., 0].size)()

    return task


def _one_by_one(env: Any, actions: np.ndarray) -> Callable[[], float]:
    """The same for the package's own step, resets not counted."""
    env = fetch.make(env.spec.id)

    def task() -> float:
        seconds = 0.0
        for seed in range(EPISODES):
            env.reset(seed=seed)
            begin = clock()
            for action in actions[:, seed]:
                env.step(action)
            seconds += clock() - begin
        return seconds / actions[..., 0].size * 1e6

    return task


def _ours(trainer: Trainer) -> Callable[[], float]:
    """The same for a training cycle."""
    act, rng = trainer.explore, np.random.default_rng(1)
    trainer.explore = lambda inputs: _random(rng, act(inputs))  # type: ignore[method-assign]
    return per_call(trainer.cycle, 1, CYCLE)


def _peer(c: Config) -> Callable[[], float]:
    """The same for Stable-Baselines3."""
    agent, rng = fetch_curves.peer(sb3, c, PEER_CAPACITY), np.random.default_rng(1)
    act = agent.predict
    agent.predict = lambda *args, **settings: (_random(rng, act(*args, **settings)[0]), None)
    learn = partial(agent.learn, CYCLE, reset_num_timesteps=False, log_interval=None)  # None: no log
    learn()
    return per_call(learn, 1, CYCLE)


def _random(rng: np.random.Generator, actions: np.ndarray) -> np.ndarray:
    """Random ones in place of `actions` [n, 4]."""
    return rng.uniform(-1, 1, actions.shape).astype(np.float32)


def operations(trainer: Trainer) -> float:
    """Floating-point operations per environment step that no implementation can avoid: acting, and its updates.

    A product and its sum count as two operations; biases, activations and the optimiser as none. Forward costs 1,
    backward 1 for the gradients of the weights and 1 for those of the inputs.
    """
    agent, c = trainer.agent, trainer.config
    actor, critic = ([2 * w.numel() for w in net.parameters() if w.dim() == 2] for net in (agent.actor, agent.critic))
    targets = sum(actor) + sum(critic)
    critic_step = 3 * sum(critic) - critic[0]  # the gradient of its input is not needed
    action_weights = 2 * agent.n_actions * agent.hidden  # type: ignore[attr-defined]
    actor_step = 2 * sum(critic) - critic[0] + action_weights + 3 * sum(actor) - actor[0]  # through the critic
    return c.updates / CYCLE * c.batch_size * (targets + critic_step + actor_step) + sum(actor)


def _where(trainer: Trainer) -> dict[str, float]:
    """Microseconds per environment step of some parts of a step, the larger before what is in it."""
    parts: list[tuple[Any, str, str]] = [
        (trainer, "play", "playing"), (trainer.worlds, "step", "of it the task"),
        (trainer, "learn", "learning"), (trainer.agent, "update", "of it gradient steps"),
    ]  # fmt: skip
    with contextlib.ExitStack() as stack:
        watches = {text: stack.enter_context(Stopwatch(owner, method)) for owner, method, text in parts}
        trainer.cycle()
    return {text: watch.seconds / CYCLE * 1e6 for text, watch in watches.items()}
