"""What is run for each figure and table, at each scale.

``smoke`` only proves that everything is wired. ``full`` is the paper's protocol: 500,000 steps and 5 seeds for SAC and
TD3, 100,000 steps and 5 seeds for Rainbow. ``quick`` has fewer tasks, steps and seeds. At any scale, beta reaches 1 at
the end of training.
"""

from collections.abc import Callable, Iterable
from typing import Any

from lab.entry import Entry
from papers.ners import pendulum_draws, train, train_rainbow
from papers.ners.evidence.plan import LANDER, PENDULUM, WALKER, cells, seeds, tasks
from papers.ners.methods import METHODS
from papers.ners.samplers import Settings
from papers.ners.td3 import LR as TD3_LR


def _sparse_pendulum(entry: Entry) -> bool:
    return entry.env == PENDULUM and entry.method.startswith("sac") and entry.seed < 3


HEADLINE = {"fig3": _sparse_pendulum, "fig5": _sparse_pendulum, "own-law": _sparse_pendulum}
"""What `make reproduce` trains: figures, and which of their runs fit into an hour beside the other papers."""

SMOKE: dict[str, Any] = dict(
    steps=240, random_steps=60, eval_every=24, batch_size=16, sampling=dict(widths="code", train_size=16, ero_batch=16)
)
QUICK: dict[str, dict[str, Any]] = {
    PENDULUM: dict(steps=20_000),
    LANDER: dict(steps=30_000),
    "Hopper-v4": dict(steps=100_000),
}
RAINBOW: dict[str, dict[str, Any]] = {
    "smoke": dict(steps=120, random_steps=50, batch_size=16, eval_every=24, eval_episodes=1, target_every=50,
                  sampling=dict(widths="code", train_size=16, ero_batch=16)),
    "quick": dict(steps=10_000, eval_every=1_000, eval_episodes=1),
    "full": dict(),
}  # fmt: skip
TD3_RATES = (5e-3, 1e-3, 3e-4)


def entries(
    scale: str, env: str, agent: str, methods: Iterable[str] = METHODS, label: str = "", **changed: Any
) -> list[Entry]:
    """An agent with some samplers on one task with every seed.

    changed: settings, those of the samplers included. label: what they make of the method's name."""
    settings = {"smoke": SMOKE, "quick": QUICK.get(env, {}), "full": {}}[scale]
    plain = {name: value for name, value in settings.items() if name != "sampling"}
    sampling = dict(settings.get("sampling", {}))
    if agent == "td3":
        plain["lr"] = TD3_LR  # said, so that own-td3-lr shares these runs where it is as long
    for name, value in changed.items():
        (sampling if name in Settings.__dataclass_fields__ else plain)[name] = value
    return [
        Entry(
            f"{agent} {label or method}", env, seed, f"{train.__name__}:main",
            train.Config(env, method, agent, seed, **plain, sampling=Settings(**sampling)),  # type: ignore[arg-type]
        )
        for method in methods for seed in seeds(scale, env)
    ]  # fmt: skip


def fig1(scale: str) -> list[Entry]:
    """The figure shows one run; the claims look at all."""
    steps = 300 if scale == "smoke" else 30_000
    [env] = tasks("fig1", scale)
    configs = [pendulum_draws.Config(seed=seed, steps=steps) for seed in seeds(scale, env, "fig1")]
    return [Entry("sac random", c.env, c.seed, f"{pendulum_draws.__name__}:main", c) for c in configs]


def fig3(scale: str) -> list[Entry]:
    """Learning curves on classical and Box2D tasks."""
    return [entry for agent, env in cells("fig3", scale) for entry in entries(scale, env, agent)]


def fig4(scale: str) -> list[Entry]:
    """Variants of NERS, with the samplers that they are compared with."""
    found = []
    for env in tasks("fig4", scale):
        found += entries(scale, env, "sac")
        found += entries(scale, env, "sac", ("ners",), "ners*", replay_reward="training")
        if env == WALKER or scale != "full":
            found += entries(scale, env, "sac", ("ners",), "ners few", features="few")
            found += entries(scale, env, "sac", ("ners",), "ners no-global", global_context=False)
    return found


def table1(scale: str) -> list[Entry]:
    """Table 1 and Fig. C.1: MuJoCo."""
    return [entry for agent, env in cells("table1", scale) for entry in entries(scale, env, agent)]


def table2(scale: str) -> list[Entry]:
    """Table 2 and Fig. C.2: Rainbow on Atari."""
    found = []
    settings = dict(RAINBOW[scale])
    sampling = Settings(**settings.pop("sampling", {}))
    for game in tasks("table2", scale):
        for seed in seeds(scale, game):
            for method in METHODS:
                config = train_rainbow.Config(game, method, seed, **settings, sampling=sampling)
                found.append(Entry(f"rainbow {method}", game, seed, f"{train_rainbow.__name__}:main", config))
    return sorted(found, key=lambda entry: entry.seed)  # a first seed of every game before a second of any


def table3(scale: str) -> list[Entry]:
    """Statistics of what was replayed, on the pendulum with its own rewards. 10,000 steps at quick, too."""
    changed: dict[str, Any] = {} if scale == "smoke" else dict(steps=10_000, random_steps=1_000)
    [(agent, env)] = cells("table3", scale)
    return entries(scale, env, agent, **changed)


def own_td3_lr(scale: str) -> list[Entry]:
    """Not in the paper: TD3's learning rate with RANDOM, from which its default is chosen."""
    changed: dict[str, Any] = dict(steps=40_000) if scale == "quick" else {}
    [(agent, env)] = cells("own-td3-lr", scale)
    found = []
    for lr in TD3_RATES:
        found += entries(scale, env, agent, ("random",), f"lr {lr:g}", lr=lr, **changed)
    return [entry for entry in found if entry.seed in seeds(scale, env, "own-td3-lr")]


EXPERIMENTS: dict[str, Callable[[str], list[Entry]]] = {
    "fig1": fig1,
    "fig3": fig3,
    "fig4": fig4,
    "table1": table1,
    "table2": table2,
    "table3": table3,
    "own-td3-lr": own_td3_lr,
}
