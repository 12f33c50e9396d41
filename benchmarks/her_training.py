"""Training on Hand: time per environment step, including acting, hindsight, replay and updates, against
Stable-Baselines3's DDPG with its HerReplayBuffer; and time of one update, by kernels and by PyTorch.

Both play the same task, 16 episodes side by side, make 40 gradient steps of batch 64 per 800 environment steps, and
have three hidden layers of 64, the same optimiser, step size and discount, and 4 virtual goals per real transition.
Unlike the peer, we replay by priority, scale the inputs, normalise the critic's layers and clip the gradients; and we
store virtual transitions when an episode ends, while it creates them when a batch is drawn. It moves its targets after
every gradient step, we after every 40.
"""

import contextlib
import io
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from torch import nn

from benchmarks.fast_peers import Peers, beside
from benchmarks.floor import matmul_rate
from benchmarks.rows import Row
from benchmarks.timing import Stopwatch, clock, interleaved, per_call
from lab.run.errors import UserError
from papers.bias_reduced_her.agents.ddpg import DDPG, Batch
from papers.bias_reduced_her.agents.fast_ddpg import FastDDPG
from papers.bias_reduced_her.train import Config, Trainer
from papers.bias_reduced_her.worlds.tasks import TASKS

try:
    with contextlib.redirect_stderr(io.StringIO()):  # gym, if installed, announces its successor
        import stable_baselines3 as sb3
        from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.noise import NormalActionNoise, VectorizedActionNoise
except ImportError as error:
    missing = error.name or "stable_baselines3"
    raise UserError(f"make bench needs {missing}: .venv/bin/pip install --group bench") from None

METHODS = ("her", "filtered-her-ibs")
ENV = "Hand"
LIMIT = 1 / 3  # of the peer: three times its steps per second
WARMUP = 20_000  # environment steps before the first update
CYCLES, CYCLE_STEPS, ROUNDS = 2, 800, 9
UPDATE_LIMIT = 500  # microseconds of one update by kernels
UPDATES = 100  # timed at once
EPOCH_LIMIT = 2.0  # seconds
UNLIKE = "draws uniformly, neither normalises nor clips"


def measure() -> list[Row]:
    with Peers() as peers:
        return _measure(peers)


def _measure(fast: Peers) -> list[Row]:
    config = Config()
    trainers = {method: warmed_up(method) for method in METHODS}
    ours = {method: _ours(trainer) for method, trainer in trainers.items()}
    peers = {
        # As many real transitions as ours has room for, and our optimiser, which is faster than its own.
        "SB3": _peer(config, config.capacity // (1 + config.k), {"fused": True}),
        "SB3, its defaults": _peer(config, config.capacity, {}),
    }
    updates = _updates(trainers["her"])
    epoch = {"epoch": _epoch(warmed_up("her", Config().capacity // 5))}
    sbx = dict(
        algorithm="DDPG", make_env="gymnasium.make", env=TASKS[ENV], n_envs=config.episodes, noise=0.1,
        settings=settings_of_peer(config, config.capacity // (1 + config.k)), policy="sbx.td3.policies.TD3Policy",
        steps=CYCLES * CYCLE_STEPS,
    )  # fmt: skip
    others = fast.tasks({"SBX": ("sbx", sbx)})
    results = interleaved({**ours, **peers, **others, **updates, **epoch, "rate": matmul_rate()}, ROUNDS)
    rate = results.pop("rate")
    rows = []
    for method, trainer in trainers.items():
        row = Row(
            f"{method}: step", results[method], "us", results["SB3"], "SB3", LIMIT, note=_where(trainer), unlike=UNLIKE
        )
        rows += beside(row, results, [("SBX", UNLIKE, "40 gradient steps in one compiled call")])
    default = "SB3, its defaults"
    note = "its Adam is not fused, and its memory has room for a million real transitions: each draw looks at all of it"
    rows.append(Row("her: step", results["her"], "us", results[default], default, note=note))
    rows.append(Row("filtered-her-ibs: step", results["filtered-her-ibs"], "us", results["her"], "our her"))
    flops = operations(trainers["her"])
    note = (
        f"{flops / 1e6:.1f} million operations per environment step, at the {rate / 1e9:.0f} GFLOP/s that large dense "
        "float32 matrix products reached on this core in the same rounds; ours are of at most 64 x 67 by 67 x 64"
    )
    rows.append(Row("her: step", results["her"], "us", flops / rate * 1e6, "arithmetic floor", note=note))
    fast, plain = results["kernels"], results["PyTorch"]
    rows.append(Row("one update", fast, "us", plain, "the same by PyTorch", UPDATE_LIMIT, "ours"))
    floor = config.batch_size * update_operations(trainers["her"].agent) / rate * 1e6
    note = "products of 64 x 64 by 64 x 64 run below the rate of large ones, those with observation or action further"
    rows.append(Row("one update", fast, "us", floor, "arithmetic floor", note=note))
    note = "50 cycles: 40,000 environment steps at most, 2,000 updates; and an evaluation of 100 episodes; memory full"
    peer = floor * config.cycles * config.updates * 1e-6
    rows.append(Row("her: epoch", results["epoch"], "s", peer, "its updates' floor", EPOCH_LIMIT, "ours", note=note))
    return rows


def _updates(trainer: Trainer) -> dict[str, Callable[[], float]]:
    """Tasks for `interleaved`: microseconds per update by the kernels and by PyTorch, on the same batches."""
    shape, action = trainer.memory["inputs"].shape, trainer.memory["action"].shape
    fast, plain = FastDDPG(shape[1], action[1]), DDPG(shape[1], action[1])
    drawn = [trainer.sampler.sample(trainer.config.batch_size) for _ in range(UPDATES)]
    batches: list[Any] = [(Batch(**trainer.memory.get(slots)), weights) for slots, weights, _ in drawn]  # type: ignore[arg-type]
    return {
        "kernels": per_call(lambda: [fast.update(*each) for each in batches], 1, UPDATES),
        "PyTorch": per_call(lambda: [plain.update(*each) for each in batches], 1, UPDATES),
    }


def warmed_up(method: str, steps: int = WARMUP) -> Trainer:
    """An untrained trainer with the paper's settings whose memory holds `steps` environment steps."""
    with contextlib.redirect_stdout(io.StringIO()):  # the size of its memory
        trainer = Trainer(Config(env=ENV, method=method))  # type: ignore[arg-type]
    explore, seed = partial(trainer.agent.explore, epsilon=1.0, rng=trainer.exploration), 0
    while trainer.steps_done < steps:
        for episode in trainer.play(trainer.worlds, np.arange(seed, seed + trainer.config.episodes), explore):
            trainer.store(episode, *trainer.hindsight(episode.achieved))
        seed += trainer.config.episodes
    return trainer


def _epoch(trainer: Trainer) -> Callable[[], float]:
    """A task for `interleaved`: seconds per epoch, including an evaluation."""

    def task() -> float:
        begin = clock()
        for _ in range(trainer.config.cycles):
            trainer.cycle()
        trainer.evaluate()
        return clock() - begin

    return task


def _ours(trainer: Trainer) -> Callable[[], float]:
    """A task for `interleaved`: microseconds per environment step of CYCLES training cycles.

    A cycle is 16 episodes of at most 800 steps in all. Success ends an episode; the updates are then spread over fewer
    steps.
    """

    def task() -> float:
        before, begin = trainer.steps_done, clock()
        for _ in range(CYCLES):
            trainer.cycle()
        return (clock() - begin) / (trainer.steps_done - before) * 1e6

    return task


def settings_of_peer(config: Config, capacity: int) -> dict[str, Any]:
    """Arguments of DDPG with which it has as much to do as ours."""
    return dict(
        learning_rate=config.lr, tau=config.tau, gamma=config.gamma, batch_size=config.batch_size,
        buffer_size=capacity, learning_starts=WARMUP, train_freq=CYCLE_STEPS // config.episodes,
        gradient_steps=config.updates, replay_buffer_class="stable_baselines3.HerReplayBuffer",
        replay_buffer_kwargs={"n_sampled_goal": config.k, "goal_selection_strategy": "future", "copy_info_dict": False},
        policy_kwargs={"net_arch": [64, 64, 64]},
    )  # fmt: skip


def _peer(config: Config, capacity: int, adam: dict[str, Any]) -> Callable[[], float]:
    """The same for Stable-Baselines3. adam: arguments of its optimiser."""
    n = config.episodes
    env = make_vec_env(lambda: gymnasium.make(TASKS[ENV], disable_env_checker=True), n)
    n_actions = len(env.action_space.low)  # type: ignore[attr-defined]
    settings = settings_of_peer(config, capacity) | dict(replay_buffer_class=sb3.HerReplayBuffer)
    settings["policy_kwargs"] |= {"optimizer_kwargs": adam}
    model = sb3.DDPG(
        "MultiInputPolicy", env, seed=0, device="cpu", **settings,
        action_noise=VectorizedActionNoise(NormalActionNoise(np.zeros(n_actions), np.full(n_actions, 0.1)), n),
    )  # fmt: skip
    learn: Any = model.learn
    learn(WARMUP, log_interval=None)  # None: no log
    steps = CYCLES * CYCLE_STEPS
    return per_call(lambda: learn(steps, reset_num_timesteps=False, log_interval=None), 1, steps)


def _where(trainer: Trainer) -> str:
    """Microseconds per environment step of each part of a step, in order, and updates per step."""
    parts: list[tuple[Any, str, str]] = [
        (trainer, "play", "playing"), (trainer, "store", "hindsight and storing"),
        (trainer.sampler, "sample", "drawing"), (trainer.memory, "get", "gathering"),
        (trainer.agent, "update", "gradient step"), (trainer.sampler, "update", "priorities"),
    ]  # fmt: skip
    before = trainer.steps_done
    with ExitStack() as stack:
        watches = {text: stack.enter_context(Stopwatch(owner, method)) for owner, method, text in parts}
        for _ in range(2 * CYCLES):
            trainer.cycle()
    steps = trainer.steps_done - before
    shares = ", ".join(f"{text} {watch.seconds / steps * 1e6:.0f}" for text, watch in watches.items())
    updates = 2 * CYCLES * trainer.config.updates / steps
    virtual = trainer.virtual_done / trainer.steps_done
    return f"us per step: {shares}; {updates:.2f} updates and {virtual:.1f} virtual transitions per step"


def operations(trainer: Trainer) -> float:
    """Floating-point operations per environment step that no implementation can avoid: acting, and its updates.

    A product and its sum count as two operations; biases, activations, normalisation and the optimiser as none.
    """
    config, agent = trainer.config, trainer.agent
    updates = config.updates / CYCLE_STEPS
    return updates * config.batch_size * update_operations(agent) + sum(_operations(agent.actor.layers))


def update_operations(agent: DDPG) -> int:
    """Operations of one update, per transition of its batch.

    Forward costs 1, backward 1 for the gradients of the weights and 1 for those of the inputs.
    """
    actor = _operations(agent.actor.layers)
    critic = _operations([*agent.critic.layers, agent.critic.output])
    joined: Any = agent.critic.layers[1]  # where the action joins
    action_weights = agent.n_actions * joined.out_features
    targets = sum(actor) + sum(critic)
    critic_step = 3 * sum(critic) - critic[0]  # the gradient of the input is not needed
    # From Q back to the action; the observation's gradient is not needed here either, nor in the actor.
    back_to_action = sum(critic[2:]) + 2 * action_weights
    actor_step = sum(critic) + back_to_action + 3 * sum(actor) - actor[0]
    return targets + critic_step + actor_step


def _operations(layers: Iterable[nn.Module]) -> list[int]:
    """Operations of each linear layer for one input, forward."""
    return [2 * layer.weight.numel() for layer in layers if isinstance(layer, nn.Linear)]
