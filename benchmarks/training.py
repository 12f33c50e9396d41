"""Training time per environment step, including acting, replay and updates, against pfrl's double DQN.

Both have the same network, optimiser, loss, batch and update interval. pfrl's environment is a stub that costs nothing:
it returns float32 frames drawn beforehand, few enough to stay in the processor's cache.
"""

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from itertools import cycle
from typing import Any

import numpy as np
import torch

from benchmarks.floor import layer_flops, matmul_rate, update_flops
from benchmarks.peers import pfrl
from benchmarks.rows import Row, number
from benchmarks.timing import Stopwatch, interleaved, per_call
from benchmarks.trainers import ENV, METHODS, ROOM, train, warmed_up
from common.networks import NatureConv
from envs.minigrid.tasks import SIZE, TASKS, MiniGridTask
from papers.ter.agents.discor import DisCor
from papers.ter.train import Config, Trainer

LIMITS = {"uer": 0.5, "per": 0.5, "ebu": 0.5, "discor": 0.95, "ter": 0.5}  # of pfrl with prioritised replay
STEPS, ROUNDS = 200, 9
SOKOBAN_STEPS, SOKOBAN_ROUNDS = 40, 5  # a gradient step on 84x84 pixels takes ten times as long
EPISODE = 100  # steps of an episode of the stub
FRAMES = 1_000
STUB = "its environment costs nothing"


def measure() -> list[Row]:
    loops: dict[str, Callable[[], None]] = {method: partial(train, warmed_up(method), STEPS) for method in METHODS}
    loops |= {f"pfrl {name}": _pfrl(name) for name in ("uniform", "PER")}
    tasks = {name: per_call(loop, 1, STEPS) for name, loop in loops.items()}
    results = interleaved({**tasks, "rate": matmul_rate()}, ROUNDS)
    rate = results.pop("rate")
    rows = []
    for method in METHODS:
        trainer, us = warmed_up(method), results[method]
        floor = _operations(trainer) / rate * 1e6
        note = f"{us / floor:.1f} times its arithmetic floor of {number(floor)} us. {_where(trainer)}"
        if method == "discor":
            note += "; it trains a second network, which pfrl does not"
        rows.append(Row(f"{method}: step", us, "us", results["pfrl PER"], "pfrl PER", LIMITS[method], note=note,
                        unlike=STUB if method in ("uer", "per") else f"{STUB}; draws by priority"))  # fmt: skip
    rows.append(Row("uer: step", results["uer"], "us", results["pfrl uniform"], "pfrl uniform", unlike=STUB))
    operations = _operations(warmed_up("per"))
    note = (
        f"{operations / 1e6:,.0f} million operations per environment step, at the {rate / 1e9:.0f} GFLOP/s that dense "
        "float32 matrix products reached on this core in the same rounds"
    )
    rows.append(Row("per: step", results["per"], "us", operations / rate * 1e6, "arithmetic floor", note=note))
    return rows + _sokoban()


def _sokoban() -> list[Row]:
    """The same on Sokoban, batch 32, against the arithmetic floor alone, as there is no stub for pfrl."""
    trainers = {method: warmed_up(method, "sokoban") for method in METHODS}
    tasks = {
        name: per_call(partial(train, trainer, SOKOBAN_STEPS), 1, SOKOBAN_STEPS) for name, trainer in trainers.items()
    }
    results = interleaved({**tasks, "rate": matmul_rate()}, SOKOBAN_ROUNDS)
    rate = results.pop("rate")
    return [
        Row(
            f"Sokoban {ROOM}, {method}: step", results[method], "us", _operations(trainer) / rate * 1e6,
            "arithmetic floor", note=_where(trainer, SOKOBAN_STEPS),
        )
        for method, trainer in trainers.items()
    ]  # fmt: skip


def _where(trainer: Trainer, steps: int = STEPS) -> str:
    """Microseconds per environment step of each part of a step, in order."""
    parts: list[tuple[Any, str, str]] = [
        (trainer, "interact", "acting and the world"), (trainer.sampler, "sample", "the method's choice"),
        (trainer.memory, "batch", "drawing"), (trainer.agent, "targets", "targets"),
        (trainer.agent, "update", "gradient step"), (trainer.sampler, "update", "the method's update"),
    ]  # fmt: skip
    with ExitStack() as stack:
        watches = {text: stack.enter_context(Stopwatch(owner, method)) for owner, method, text in parts}
        train(trainer, steps)
    return "Us per step: " + ", ".join(f"{text} {w.seconds / steps * 1e6:.0f}" for text, w in watches.items())


def _operations(trainer: Trainer) -> float:
    """Floating-point operations per environment step that no implementation can avoid: acting, and its updates."""
    config, shape = trainer.config, trainer.world.env.observation_space.shape
    layers = layer_flops(trainer.agent.q, shape)
    update = update_flops(layers, config.batch_size, looks=2)
    if isinstance(trainer.sampler, DisCor):
        update += update_flops(layer_flops(trainer.sampler.errors.q, shape), config.batch_size, looks=1)
    return update * config.replay_ratio + sum(layers)  # acting sees one frame


def _pfrl(name: str) -> Callable[[], None]:
    """STEPS steps of pfrl's DoubleDQN, warmed up."""
    config = Config()
    rng = np.random.default_rng(0)
    frames = _frames()
    n_actions = TASKS[ENV][2]
    q = torch.nn.Sequential(NatureConv((SIZE, SIZE, 3), n_actions), pfrl.q_functions.DiscreteActionValueHead())
    buffers = {
        "uniform": lambda: pfrl.replay_buffers.ReplayBuffer(config.capacity),
        "PER": lambda: pfrl.replay_buffers.PrioritizedReplayBuffer(
            config.capacity, config.per_alpha, config.per_beta, betasteps=config.steps // config.update_every
        ),
    }
    buffer = buffers[name]()
    agent = pfrl.agents.DoubleDQN(
        q, torch.optim.Adam(q.parameters(), lr=config.lr, fused=True), buffer, config.gamma,
        pfrl.explorers.ConstantEpsilonGreedy(config.epsilon_end, lambda: int(rng.integers(n_actions))),
        replay_start_size=config.warmup, minibatch_size=config.batch_size, update_interval=config.update_every,
        target_update_interval=config.target_interval,
    )  # fmt: skip
    order = cycle(rng.integers(FRAMES, size=10_007).tolist())
    frame = frames[next(order)]
    for step in range(config.warmup):
        next_frame = frames[next(order)]
        buffer.append(frame, int(rng.integers(n_actions)), -1.0, next_frame, is_state_terminal=step % EPISODE == 0)
        frame = next_frame

    def run() -> None:
        frame = frames[next(order)]
        for step in range(1, STEPS + 1):
            agent.act(frame)
            frame = frames[next(order)]
            agent.observe(frame, -1.0, step % EPISODE == 0, False)

    return run


def _frames() -> list[np.ndarray]:
    """Pictures from a random policy in pfrl's format: float32 (3, 40, 40) in [0, 1]."""
    env = MiniGridTask(ENV)
    rng = np.random.default_rng(0)
    frame, _ = env.reset(seed=0)
    frames = []
    for _ in range(FRAMES):
        frames.append(np.ascontiguousarray(frame.transpose(2, 0, 1)).astype(np.float32) / 255)
        frame, _, terminated, truncated, _ = env.step(int(rng.integers(TASKS[ENV][2])))
        if terminated or truncated:
            frame, _ = env.reset()
    return frames
