"""NERS: steps of SAC, TD3 and Rainbow against their arithmetic floors, the first two against Stable-Baselines3 and the
third against pfrl; gradient steps as kernels against those of PyTorch; what the samplers add; prioritised draws; Atari.

A step of SAC or TD3 is one environment step on Hopper with its gradient step: playing, storing, drawing, learning,
updating the sampler. The peers' networks, batches, step sizes and memories have the sizes of ours. Evaluations, and
what samplers learn from them, are left out: there is one in 1,000 steps.

Rainbow is compared with all its parts, as pfrl has them: prioritised replay, duelling, noisy and distributional
networks, double Q-learning and 20-step returns. The peer gets our network: its own has no version of this size, and
ours is faster (see Convolutions in papers/ners/agents/rainbow.py). Both learn from stored frames of random pixels.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterable
from functools import partial
from itertools import cycle
from typing import Any

import numpy as np
import torch
from torch import nn

from benchmarks.fast_peers import Peers, beside
from benchmarks.floor import matmul_rate, update_flops
from benchmarks.peers import pfrl
from benchmarks.rows import Row
from benchmarks.timing import Stopwatch, interleaved, per_call
from common.replay.samplers import PrioritizedSampler
from envs.atari import REPEAT, Atari
from lab.run.errors import UserError
from papers.ners import train, train_rainbow
from papers.ners.agents.rainbow import Network, NoisyLinear
from papers.ners.agents.sac import LR as SAC_LR
from papers.ners.agents.tasks import make_env
from papers.ners.agents.td3 import LR as TD3_LR
from papers.ners.samplers.batch import Batch
from papers.ners.samplers.samplers import Settings

try:
    with contextlib.redirect_stderr(io.StringIO()):  # gym, if installed, announces its successor
        import stable_baselines3 as sb3
except ImportError as error:
    missing = error.name or "stable_baselines3"
    raise UserError(f"make bench needs {missing}: .venv/bin/pip install --group bench") from None

ENV = "Hopper-v4"
OURS: dict[str, dict[str, Any]] = {
    "sac random": {"agent": "sac", "method": "random"},
    "sac per": {"agent": "sac", "method": "per"},
    "sac ero": {"agent": "sac", "method": "ero"},
    "sac ners": {"agent": "sac", "method": "ners"},
    "sac ners, widths of the code": {"agent": "sac", "method": "ners", "sampling": Settings(widths="code")},
    "td3 random": {"agent": "td3", "method": "random"},
}
STEP_LIMIT = 1 / 2  # of Stable-Baselines3: twice its steps per second
GRADIENT_LIMITS = {128: 0.6, 256: 0.7}  # by the size of the batch, of PyTorch's
PER_LIMIT = 1.03  # of RANDOM's step
NERS_LIMIT = 1.15  # of RANDOM's step, with the released code's widths, which quick uses
TREE_LIMIT = 100.0  # us
GAME_LIMIT = 1_000.0  # us
MEMORY_LIMIT = 1.0  # GB
WARMUP = 1_000
"""Random steps before the first round."""
STORED = 250_000
"""Transitions in a memory when the first round begins: the random steps, repeated. Half of a run's."""
STEPS, ROUNDS = 50, 9
PRIORITIES, DRAWN = 1_000_000, 256
GAMES, GAME_STEPS = ("Pong", "Seaquest"), 200
FRAMES, UPDATES = 50_000, 20
"""Rainbow: transitions in its memory, again half of a run's; updates per round."""
BY_EIGHT = ", 8 by 8"
EPISODE = 500  # steps between two lost lives in Rainbow's memory


def measure() -> list[Row]:
    return [*continuous(), *gradient_steps(), *draws(), *games(), *rainbow()]


# ---- SAC and TD3 -----------------------------------------------------------------------------------------------------


def continuous() -> list[Row]:
    """Measure ours and the peers in turns, so that any two can be compared."""
    with Peers() as peers:
        return _continuous(peers)


def _continuous(fast: Peers) -> list[Row]:
    trainers = {name: make_trainer(**settings) for name, settings in OURS.items()}
    peers = {agent: make_peer(agent, {"fused": True}) for agent in ("sac", "td3")}
    wanted = {
        f"SBX{how} {agent}": ("sbx", dict(
            algorithm=agent.upper(), make_env="papers.ners.agents.tasks.make_env", env=ENV, steps=STEPS // 8 * 8,
            settings=settings_of_peer(agent) | dict(train_freq=every, gradient_steps=every), stored=STORED,
            noise=train.Config(ENV).action_noise if agent == "td3" else 0.0,
        ))
        for agent in peers for how, every in (("", 1), (BY_EIGHT, 8))
    }  # fmt: skip
    defaults = {agent: make_peer(agent, {}) for agent in ("sac", "td3")}
    loops = {name: partial(advance, trainer, STEPS) for name, trainer in trainers.items()}
    loops |= {f"{agent} SB3": partial(learn, peer, STEPS) for agent, peer in peers.items()}
    loops |= {f"{agent} SB3, its defaults": partial(learn, peer, STEPS) for agent, peer in defaults.items()}
    tasks = {name: per_call(loop, 1, STEPS) for name, loop in loops.items()}
    scoring = {name: _scoring(trainer) for name, trainer in trainers.items() if " ners" in name}
    tasks |= {f"{name}: scores": task for name, task in scoring.items()}
    tasks |= fast.tasks(wanted)
    results = interleaved({**tasks, "rate": matmul_rate()}, ROUNDS)
    rate = results["rate"]

    rows = []
    for agent, peer in peers.items():
        ours, trainer = results[f"{agent} random"], trainers[f"{agent} random"]
        note = f"ours: {_where(loops[f'{agent} random'], STEPS, _agent_parts(trainer))}; "
        note += f"the peer's: {_where(loops[f'{agent} SB3'], STEPS, _peer_parts(peer))}"
        if agent == "td3":
            note += "; our target networks follow after every step, as the paper has it, the peer's after every second"
        flops = operations(trainer)
        default = f"{agent} SB3, its defaults"
        found = {how: results[f"{how} {agent}"] for how in ("SBX", f"SBX{BY_EIGHT}") if f"{how} {agent}" in results}
        rows += [
            *beside(Row(f"{agent}: step", ours, "us", results[f"{agent} SB3"], "SB3", STEP_LIMIT, note=note),
                    found, [("SBX", "", "compiled by XLA")]),
            *beside(Row(f"{agent}: step{BY_EIGHT}", ours, "us"), found,
                    [(f"SBX{BY_EIGHT}", "learns 8 times after every 8 steps, ours after each", "batching")]),
            Row(f"{agent}: step", ours, "us", results[default], "SB3, its defaults", note="its Adam is not fused"),
            Row(f"{agent}: step", ours, "us", flops / rate * 1e6, "arithmetic floor",
                note=f"{_millions(flops, rate)}; without the simulator"),
        ]  # fmt: skip

    limits = {"sac per": PER_LIMIT, "sac ners, widths of the code": NERS_LIMIT}
    for name in OURS:
        if name in ("sac random", "td3 random"):
            continue
        note = _where(loops[name], STEPS, _sampler_parts(trainers[name].sampler))
        if name in scoring:
            flops = scoring_operations(trainers[name])
            note += f"; the forward's floor is {flops / rate * 1e6:.0f}"
        elif name == "sac ero":
            note += f"; the subset is drawn anew from {STORED:,} transitions at the end of each episode"
        rows.append(Row(f"{name}: step", results[name], "us", results["sac random"], "sac random", limits.get(name),
                        note=note))  # fmt: skip
    for name in scoring:
        flops = scoring_operations(trainers[name])
        rows.append(Row(f"{name[4:]}: scores of a batch", results[f"{name}: scores"], "us", flops / rate * 1e6,
                        "arithmetic floor", note=_millions(flops, rate)))  # fmt: skip
    return rows


def gradient_steps() -> list[Row]:
    """The kernels and the form to read take turns, on the same batches of Hopper's transitions."""
    trainer = make_trainer(agent="sac", method="random")
    sizes = trainer.memory["state"].shape[1], trainer.memory["action"].shape[1]
    tasks: dict[tuple[str, int, bool], Callable[[], float]] = {}
    for literal, twin in train.FAST.items():
        for n in GRADIENT_LIMITS:
            batches = [trainer.batch(*trainer.sampler.sample(n)[:2]) for _ in range(UPDATES)]
            for kind in (twin, literal):
                task = partial(_update, kind(*sizes), batches)
                tasks[literal.__name__, n, kind is twin] = per_call(task, 1, UPDATES)
    us = interleaved(tasks, ROUNDS)
    return [
        Row(f"{name.lower()}: gradient step, batch {n}", us[name, n, True], "us", us[name, n, False], "PyTorch",
            GRADIENT_LIMITS[n], note="the agent alone")
        for name, n, fast in tasks if fast
    ]  # fmt: skip


def _update(agent: Any, batches: Iterable[Batch]) -> None:
    for batch in batches:
        agent.update(batch)


def make_trainer(**settings: Any) -> train.Trainer:
    """Our trainer with STORED transitions, ready to learn."""
    with contextlib.redirect_stdout(io.StringIO()):  # the size of its memory
        trainer = train.Trainer(train.Config(ENV, random_steps=WARMUP, **settings))
    advance(trainer, WARMUP)
    memory = trainer.memory
    copies = {name: _repeated(memory[name][:WARMUP], STORED - WARMUP) for name in memory.fields}
    for slot in memory.extend(**copies).tolist():
        trainer.sampler.add(slot)
        trainer.diagnostics.added(slot, trainer.t)
    return trainer


def settings_of_peer(agent: str) -> dict[str, Any]:
    """Arguments of SAC or TD3 with which it has as much to do as ours."""
    config = train.Config(ENV)
    special = {
        "sac": {"learning_rate": SAC_LR},
        "td3": {
            "learning_rate": TD3_LR, "policy_delay": config.policy_delay, "target_policy_noise": config.target_noise,
            "target_noise_clip": config.noise_clip,
        },
    }  # fmt: skip
    return special[agent] | dict(
        buffer_size=config.capacity, learning_starts=WARMUP, batch_size=config.batch_size, tau=config.tau,
        gamma=config.gamma, train_freq=1, gradient_steps=1, policy_kwargs={"net_arch": [256, 256]},
    )  # fmt: skip


def make_peer(agent: str, adam: dict[str, Any]) -> Any:
    """Stable-Baselines3's learner. adam: arguments of its optimisers."""
    env, settings = make_env(ENV), settings_of_peer(agent)
    settings["policy_kwargs"] |= {"activation_fn": nn.ReLU, "optimizer_kwargs": adam}
    if agent == "td3":
        still = np.zeros(env.action_space.shape)  # type: ignore[arg-type]
        settings["action_noise"] = sb3.common.noise.NormalActionNoise(still, still + train.Config(ENV).action_noise)
    peer = {"sac": sb3.SAC, "td3": sb3.TD3}[agent]("MlpPolicy", env, seed=0, device="cpu", **settings)
    learn(peer, WARMUP + 1)
    memory = peer.replay_buffer
    n = memory.pos
    for array in (memory.observations, memory.actions, memory.rewards, memory.next_observations, memory.dones):
        array[n:STORED] = _repeated(array[:n], STORED - n)
    memory.pos = STORED
    return peer


def advance(trainer: train.Trainer, steps: int) -> None:
    for _ in range(steps):
        trainer.advance()


def learn(peer: Any, steps: int) -> None:
    """Play `steps` environment steps, with as many gradient steps."""
    peer.learn(steps, reset_num_timesteps=False, log_interval=None)  # None: no log


def operations(trainer: train.Trainer) -> float:
    """Floating-point operations of an environment step's matrix products; a product and its sum count as two."""
    agent, config = trainer.agent, trainer.config
    actor, critics = _weights(agent.actor), _weights(agent.critics)
    n_states, n_actions = trainer.memory["state"].shape[1], trainer.memory["action"].shape[1]
    targets = sum(actor) + sum(critics)
    critic_step = 3 * sum(critics) - critics[0]  # forward, gradients of weights, and of all inputs but the first
    # The critics give the gradient of Q with respect to the action, but not to the state.
    slope = sum(critics) + sum(critics[1:]) + critics[0] * n_actions / (n_states + n_actions)
    actor_step = 3 * sum(actor) - actor[0] + slope
    if config.agent == "td3":  # uses only the first critic, and not at every step
        actor_step = (actor_step - slope / 2) / config.policy_delay
    return config.batch_size * (targets + critic_step + actor_step) + sum(actor)  # acting sees one state


def scoring_operations(trainer: train.Trainer) -> float:
    """The same for the scores of a batch: forward through NERS's three networks."""
    return trainer.config.batch_size * sum(_weights(trainer.sampler.network))


def _weights(network: nn.Module) -> list[int]:
    """Operations of each linear layer for one input, forward; for stacked layers, of all members."""
    return [2 * weight.numel() for name, weight in network.named_parameters() if name.endswith("weight")]


def _scoring(trainer: train.Trainer) -> Callable[[], float]:
    """A task for `interleaved`: the features of a batch, and NERS's networks on them."""
    slots = trainer.sampler.sample(trainer.config.batch_size).indices
    return per_call(lambda: trainer.sampler.judged(slots), STEPS)


def _repeated(array: np.ndarray, n: int) -> np.ndarray:
    """The rows of the array, repeated to n rows."""
    return np.resize(array, (n, *array.shape[1:]))


# ---- prioritised draws -----------------------------------------------------------------------------------------------


def draws() -> list[Row]:
    """Measure draws as in PER and NERS: one from each of n equal parts of the sum of priorities."""
    rng = np.random.default_rng(0)
    sampler = PrioritizedSampler(PRIORITIES, rng, 0.5, 0.4, beta_steps=10**9, epsilon=0.0, clip=None, stratified=True)
    sampler.extend(np.arange(PRIORITIES))
    sampler.tree.set_many(np.arange(PRIORITIES), rng.uniform(0.05, 1.0, PRIORITIES))
    sampler.stored = PRIORITIES
    scores = rng.uniform(0.05, 1.0, DRAWN)
    drawn = cycle([sampler.sample(DRAWN)[0] for _ in range(500)])  # new ones each time: caches cold as in training
    us = interleaved(
        {
            "sample": per_call(lambda: sampler.sample(DRAWN), 200),
            "update": per_call(lambda: sampler.update(next(drawn), {"td_error": scores}), 200),
        },
        ROUNDS,
    )
    return [
        Row("sampler: draw 256 of 1M, with weights", us["sample"], "us", limit=TREE_LIMIT, judged="ours"),
        Row("sampler: update 256 of 1M", us["update"], "us", limit=TREE_LIMIT, judged="ours"),
    ]  # fmt: skip


# ---- Atari -----------------------------------------------------------------------------------------------------------


def games() -> list[Row]:
    """Measure a random policy; the emulator alone plays the same actions without making pictures."""
    tasks = {}
    for name in GAMES:
        for what, play in (("ours", play_game), ("emulator", emulate)):
            game = Atari(name)
            game.reset(seed=0)
            actions = np.random.default_rng(0).integers(len(game.ale.getMinimalActionSet()), size=GAME_STEPS).tolist()
            tasks[f"{name} {what}"] = per_call(partial(play, game, actions), 1, GAME_STEPS)
    us = interleaved(tasks, ROUNDS)
    return [
        Row(f"{name}: step of the game", us[f"{name} ours"], "us", us[f"{name} emulator"], "emulator alone",
            GAME_LIMIT, "ours", "4 emulator frames, without learning")
        for name in GAMES
    ]  # fmt: skip


def play_game(game: Atari, actions: Iterable[int]) -> None:
    for action in actions:
        _, _, terminated, truncated, _ = game.step(action)
        if terminated or truncated:
            game.reset()


def emulate(game: Atari, actions: Iterable[int]) -> None:
    legal = game.ale.getMinimalActionSet()
    for action in actions:
        for _ in range(REPEAT):
            game.ale.act(legal[action])
        if game.ale.game_over():
            game.ale.reset_game()


# ---- Rainbow ---------------------------------------------------------------------------------------------------------


def rainbow() -> list[Row]:
    """Measure gradient steps on Alien, which has all 18 actions."""
    random, per, ners = (make_rainbow(method) for method in ("random", "per", "ners"))
    learners = {"random": random.learn, "per": per.learn, "ners": ners.learn, "pfrl": make_pfrl_rainbow()}
    tasks = {name: per_call(learn, UPDATES) for name, learn in learners.items()}
    results = interleaved({**tasks, "rate": matmul_rate()}, ROUNDS)
    agent, batch, rate = random.agent, random.config.batch_size, results["rate"]
    flops = update_flops(rainbow_layers(agent.online), batch, looks=2)  # both networks evaluate the next states
    parts = [(random.memory, "batch", "gathering frames"), (agent, "update", "the update")]
    note = f"batch of {batch}; {_millions(flops, rate)}. {_where(random.learn, 1, parts)}"
    rings = (random.memory.frames, random.memory.transitions)
    size = sum(ring[name].nbytes for ring in rings for name in ring.fields)
    return [
        Row("rainbow random: gradient step", results["random"], "us", flops / rate * 1e6, "arithmetic floor",
            note=note),
        Row("rainbow per: gradient step", results["per"], "us", results["pfrl"], "pfrl Rainbow",
            note="the peer with our network"),
        Row("rainbow per: gradient step", results["per"], "us", flops / rate * 1e6, "arithmetic floor"),
        Row("rainbow ners: gradient step", results["ners"], "us", results["random"], "rainbow random",
            note=_where(ners.learn, 1, _sampler_parts(ners.sampler))),
        Row(f"rainbow: memory of {random.config.capacity:,} transitions", size / 1e9, "GB", limit=MEMORY_LIMIT,
            judged="ours", note="when it is full, as training announces it"),
    ]  # fmt: skip


def make_rainbow(method: str) -> train_rainbow.Trainer:
    """Rainbow with FRAMES transitions of random pixels; the cost of an update does not depend on their content."""
    with contextlib.redirect_stdout(io.StringIO()):  # the size of its memory
        trainer = train_rainbow.Trainer(train_rainbow.Config("Alien", method))
    pictures = np.random.default_rng(0).integers(256, size=(64, *trainer.memory.state().shape[1:]), dtype=np.uint8)
    t = 0
    while len(trainer.memory) < FRAMES:
        t += 1
        lost = t % EPISODE == 0
        for slot in trainer.memory.add(t % trainer.n_actions, 0.0, pictures[t % 64], lost, False):
            trainer.sampler.add(slot)
        if lost:
            trainer.memory.reset(pictures[0])
    trainer.agent.act(trainer.memory.state())  # draws the weights' noise, which is 0 at first
    return trainer


class PeerNetwork(nn.Module):
    """Our network with the outputs that pfrl expects; it draws new noise once per gradient step."""

    def __init__(self, config: train_rainbow.Config, n_actions: int):
        super().__init__()
        settings: dict[str, Any] = dict(stack=config.stack, hidden=config.hidden, sigma0=config.sigma)
        self.network = Network(n_actions, config.atoms, **settings)
        self.support = torch.linspace(-config.v_max, config.v_max, config.atoms)

    def forward(self, stacks: torch.Tensor) -> Any:
        if torch.is_grad_enabled():  # the pass that is learnt from, which comes first
            self.network.resample(torch.default_generator)
        probabilities = torch.softmax(self.network(stacks), dim=2)
        return pfrl.action_value.DistributionalDiscreteActionValue(probabilities, self.support)


def make_pfrl_rainbow() -> Callable[[], object]:
    """A gradient step of pfrl's Rainbow with the same work as ours, on FRAMES transitions of random pixels."""
    config, n_actions = train_rainbow.Config("Alien", "per"), 18
    network = PeerNetwork(config, n_actions)
    buffer = pfrl.replay_buffers.PrioritizedReplayBuffer(
        config.capacity, alpha=config.sampling.alpha, beta0=config.sampling.beta, betasteps=config.steps,
        num_steps=config.multi_step,
    )  # fmt: skip
    agent = pfrl.agents.CategoricalDoubleDQN(
        network, torch.optim.Adam(network.parameters(), lr=config.lr, eps=config.adam_epsilon, fused=True), buffer,
        config.gamma, pfrl.explorers.Greedy(), minibatch_size=config.batch_size, replay_start_size=config.random_steps,
        max_grad_norm=config.max_gradient,
    )  # fmt: skip
    stacks = np.random.default_rng(0).integers(256, size=(64, config.stack, 84, 84), dtype=np.uint8)
    for t in range(1, FRAMES + 1):
        over = t % EPISODE == 0
        buffer.append(stacks[t % 64], t % n_actions, 0.0, stacks[(t + 1) % 64], is_state_terminal=over)
        if over:
            buffer.stop_current_episode()
    return lambda: agent.update(buffer.sample(config.batch_size))


def rainbow_layers(network: Network) -> list[int]:
    """Floating-point operations of each layer for one state, forward; the weights' noise counts as none."""
    convolutions = network.convolutions
    side = 84 // convolutions.size
    first = 2 * convolutions.first.weight.numel() * side**2
    second = 2 * convolutions.second.weight.numel() * (side // convolutions.size) ** 2
    heads = [2 * layer.mu.weight.numel() for layer in network.modules() if isinstance(layer, NoisyLinear)]
    return [first, second, *heads]


# ---- where the time goes ---------------------------------------------------------------------------------------------

Part = tuple[Any, str, str]
"""An object, the name of its method, and a label."""


def _agent_parts(trainer: train.Trainer) -> list[Part]:
    agent = trainer.agent
    return [
        (trainer.env, "step", "simulator"), (agent, "act", "choosing actions"), (trainer, "batch", "gathering"),
        (agent, "update", "gradient step"),
    ]  # fmt: skip


def _peer_parts(peer: Any) -> list[Part]:
    return [(peer, "collect_rollouts", "playing"), (peer, "train", "gradient step")]


def _sampler_parts(sampler: Any) -> list[Part]:
    """The calls of a sampler during training; for NERS, also the new scores, and features where PyTorch makes them."""
    parts = [
        (sampler, "add", "new transitions"), (sampler, "sample", "drawing"), (sampler, "update", "telling the sampler"),
        (sampler, "episode", "ends of episodes"),
    ]  # fmt: skip
    if hasattr(sampler, "judged"):
        parts += [(sampler, "judged", "of telling it the scores"), (sampler, "features", "of these the features")]
    return parts


def _where(play: Callable[[], object], steps: int, parts: list[Part]) -> str:
    """Microseconds per step spent in some objects' methods; a call of `play` makes `steps` steps."""
    calls = max(1, UPDATES // steps)
    with contextlib.ExitStack() as stack:
        watches = [(text, stack.enter_context(Stopwatch(owner, method))) for owner, method, text in parts]
        for _ in range(calls):
            play()
    return "us: " + ", ".join(f"{text} {watch.seconds / (calls * steps) * 1e6:.0f}" for text, watch in watches)


def _millions(flops: float, rate: float) -> str:
    return (
        f"{flops / 1e6:.0f} million operations, at the {rate / 1e9:.0f} GFLOP/s that large dense float32 matrix "
        "products reached in the same rounds"
    )
