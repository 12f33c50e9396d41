"""ReF-ER: V-RACER's gradient step against its arithmetic floor, and DDPG and NAF against Stable-Baselines3's DDPG.

V-RACER's memory is filled with episodes of random numbers, of HalfCheetah's sizes, as long as in MuJoCo tasks whose
agent sometimes falls; the cost of a gradient step does not depend on their values. A step includes everything that
training does for it: drawing, the network forward and backward, divergence, correction of stored returns, counting
far-policy samples, Adam.

Both DDPGs play HalfCheetah with one gradient step per environment step, and with networks, batches, Adam (fused),
target updates and memories of the same sizes. NAF, which Stable-Baselines3 lacks, is compared with its DDPG at NAF's
batch size: NAF trains one network, DDPG an actor and a critic.
"""

from __future__ import annotations

import contextlib
import io
from typing import Any

import numpy as np
from torch import nn

from benchmarks.fast_peers import Peers, beside
from benchmarks.floor import matmul_rate
from benchmarks.rows import Row
from benchmarks.timing import Stopwatch, clock, interleaved, per_call
from lab.run.errors import UserError
from papers.ref_er.agents.tasks import make_env
from papers.ref_er.memory.episode import Episode
from papers.ref_er.train import Config, Trainer, batch_size

try:
    with contextlib.redirect_stderr(io.StringIO()):  # gym, if installed, announces its successor
        import stable_baselines3 as sb3
except ImportError as error:
    missing = error.name or "stable_baselines3"
    raise UserError(f"make bench needs {missing}: .venv/bin/pip install --group bench") from None

ENV = "HalfCheetah-v5"
UPDATE_LIMIT = 900.0  # us
CORRECTION_LIMIT = 400.0  # us
STEP_LIMIT = 0.35  # of Stable-Baselines3
UPDATES, STEPS, ROUNDS = 100, 200, 9
WARMUP = 5_000
"""Steps that agents play before the first round; batches are then drawn from these."""


def measure() -> list[Row]:
    with Peers() as peers:
        return _measure(peers)


def _measure(peers: Peers) -> list[Row]:
    vracer = make_vracer()
    slots = vracer.memory.sample(256, np.random.default_rng(0))
    ddpg, naf = (Trainer(Config(ENV, method, "refer", capacity=2**18, warmup=WARMUP)) for method in ("ddpg", "naf"))
    ddpg.warm_up()
    naf.warm_up()
    fused, default = make_peer({"fused": True}), make_peer({})
    large = make_peer({"fused": True}, batch_size(naf.config))
    sbx: dict[str, Any] = dict(
        algorithm="DDPG", make_env="papers.ref_er.agents.tasks.make_env", env=ENV, settings=settings_of_peer(128),
        activation="soft_sign", noise=0.2,
    )  # fmt: skip
    by_eight = sbx["settings"] | dict(train_freq=8, gradient_steps=8)
    wanted = {
        "SBX": ("sbx", sbx | dict(steps=STEPS)),
        "SBX, 8 by 8": ("sbx", sbx | dict(steps=STEPS, settings=by_eight)),
    }
    results = interleaved(
        {
            "update": per_call(vracer.learn, UPDATES),
            "correction": per_call(lambda: vracer.memory.correct(slots), UPDATES),
            "ddpg": _per_step(lambda: play_and_learn(ddpg, STEPS)),
            "SB3": _per_step(lambda: learn(fused, STEPS)),
            "SB3, its defaults": _per_step(lambda: learn(default, STEPS)),
            "naf": _per_step(lambda: play_and_learn(naf, STEPS)),
            "SB3, large": _per_step(lambda: learn(large, STEPS)),
            "rate": matmul_rate(),
            **peers.tasks(wanted),
        },
        ROUNDS,
    )
    rate = results["rate"]
    at_rate = f"at the {rate / 1e9:.0f} GFLOP/s that large dense float32 matrix products reached in the same rounds"
    flops = vracer_operations(vracer)
    parts = [
        (vracer.memory, "sample", "drawing"), (vracer.agent.network, "evaluate", "network forwards"),
        (vracer.agent.network, "backward", "and backwards"), (vracer.agent.optimizer, "step", "Adam"),
        (vracer.memory, "correct", "correction of returns"), (vracer.memory, "count_far", "counting far samples"),
    ]  # fmt: skip
    note = (
        f"memory of {vracer.memory.n:,} steps, batch of 256; floor: {flops / 1e6:.1f} million operations, {at_rate}. "
        f"{_where(vracer.learn, parts)}; the rest is gathering, densities, divergence and their gradients"
    )
    agent = ddpg.agent
    ddpg_parts = [
        (ddpg, "play", "playing"), (agent, "update", "gradient step"), (agent.actor_target, "act", "of it targets"),
        (agent.critic_target, "act", "and their values"), (agent.critic_optimizer, "step", "the critic's Adam"),
        (agent.actor_optimizer, "step", "the actor's Adam"),
    ]  # fmt: skip
    peer_parts = [(fused, "collect_rollouts", "playing"), (fused, "train", "gradient step")]
    ddpg_floor = ddpg_operations(ddpg) / rate * 1e6
    return [
        Row("vracer: update", results["update"], "us", flops / rate * 1e6, "arithmetic floor", UPDATE_LIMIT, "ours",
            note),
        Row("vracer: correction of stored returns", results["correction"], "us", limit=CORRECTION_LIMIT, judged="ours",
            note=f"256 steps drawn from {len(vracer.memory):,} episodes of 20 to 1,000 steps"),
        *beside(
            Row("ddpg: step", results["ddpg"], "us", results["SB3"], "SB3", STEP_LIMIT,
                note=f"ours: {_where(lambda: play_and_learn(ddpg, 1), ddpg_parts)}; the peer's: "
                f"{_where(lambda: learn(fused, 1), peer_parts)}", unlike="without ReF-ER"),
            results, [("SBX", "without ReF-ER", "compiled by XLA")],
        ),
        Row("ddpg: step", results["ddpg"], "us", results["SB3, its defaults"], "SB3, its defaults",
            note="its Adam is not fused"),
        Row("ddpg: step", results["ddpg"], "us", ddpg_floor, "arithmetic floor", note="without the simulator"),
        *beside(
            Row("ddpg: step, 8 by 8", results["ddpg"], "us"), results,
            [("SBX, 8 by 8", "learns 8 times after every 8 steps, ours after each; without ReF-ER", "batching")],
        ),
        Row("naf: step", results["naf"], "us", results["SB3, large"], "SB3's DDPG", STEP_LIMIT,
            note=f"batches of {batch_size(naf.config)}; the peer is another method, with two networks that learn",
            unlike="another method: NAF is in no library that we know"),
    ]  # fmt: skip


def make_vracer() -> Trainer:
    """V-RACER on a full memory of the paper's size, ready to learn."""
    trainer = Trainer(Config(ENV, "vracer", "refer", capacity=2**18, beta=0.5))
    rng = np.random.default_rng(0)
    n_states, n_actions, longest = trainer.player.sizes
    while trainer.memory.n < trainer.config.capacity:
        length = int(rng.integers(20, longest + 1))
        states = rng.standard_normal((length + 1, n_states)).astype(np.float32)
        found = [trainer.agent.act(state) for state in states]
        means, stds, values = (list(column) for column in zip(*found))
        noise = rng.standard_normal((length, n_actions)).astype(np.float32)
        actions = [mean + std * z for mean, std, z in zip(means, stds, noise)]
        rewards = rng.standard_normal(length).tolist()
        ended = bool(length < longest)
        trainer.memory.add(Episode(list(states), actions, means[:-1], stds[:-1], rewards, values, terminated=ended))
    trainer.memory.standardise()
    trainer.memory.rescale_rewards()
    return trainer


def play_and_learn(trainer: Trainer, steps: int) -> None:
    for _ in range(steps):
        trainer.play()
        trainer.t += 1
        trainer.learn()


def settings_of_peer(batch_size: int) -> dict[str, Any]:
    """Arguments of DDPG with which it has as much to do as ours."""
    return dict(
        learning_rate=1e-4, buffer_size=2**18, learning_starts=WARMUP, batch_size=batch_size, tau=0.01, gamma=0.995,
        train_freq=1, gradient_steps=1, policy_kwargs={"net_arch": [128, 128]},
    )  # fmt: skip


def make_peer(adam: dict[str, Any], batch_size: int = 128) -> Any:
    """Stable-Baselines3's DDPG. adam: arguments of its optimisers."""
    settings = settings_of_peer(batch_size)
    settings["policy_kwargs"] |= {"activation_fn": nn.Softsign, "optimizer_kwargs": adam}
    noise = sb3.common.noise.NormalActionNoise(np.zeros(6), np.full(6, 0.2))
    peer = sb3.DDPG("MlpPolicy", make_env(ENV), action_noise=noise, seed=0, device="cpu", **settings)
    learn(peer, WARMUP + 1)
    return peer


def learn(peer: Any, steps: int) -> None:
    """Play `steps` environment steps, with as many gradient steps."""
    peer.learn(steps, reset_num_timesteps=False, log_interval=None)  # None: no log


def vracer_operations(trainer: Trainer) -> float:
    """Floating-point operations of a gradient step's matrix products; a product and its sum count as two."""
    weights = [2 * p.numel() for p in trainer.agent.network.parameters() if p.dim() > 1]
    return 256 * (3 * sum(weights) - weights[0])  # forward, gradients of weights, and of all inputs but the first


def ddpg_operations(trainer: Trainer) -> float:
    """The same for DDPG and one environment step: two networks learn, the critic also gives the gradient with respect
    to the action, and both targets are evaluated."""
    networks = trainer.agent.actor, trainer.agent.critic
    actor, critic = ([2 * p.numel() for p in network.parameters() if p.dim() > 1] for network in networks)
    learnt = 3 * (sum(actor) + sum(critic)) - actor[0] - critic[0]
    return 128 * (learnt + 2 * sum(critic) + sum(actor) + sum(critic)) + sum(actor)


def _per_step(play: Any) -> Any:
    """A task for `interleaved`: microseconds per environment step."""

    def task() -> float:
        begin = clock()
        play()
        return (clock() - begin) / STEPS * 1e6

    return task


def _where(update: Any, parts: list[tuple[Any, str, str]]) -> str:
    """Microseconds per call of `update` spent in some objects' methods."""
    with contextlib.ExitStack() as stack:
        watches = [(text, stack.enter_context(Stopwatch(owner, method))) for owner, method, text in parts]
        for _ in range(UPDATES):
            update()
    return "us: " + ", ".join(f"{text} {watch.seconds / UPDATES * 1e6:.0f}" for text, watch in watches)
