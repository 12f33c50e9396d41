"""What is run for each figure and table, at each scale.

``smoke`` only proves that everything is wired. ``full`` is the paper's protocol: 500,000 steps and 5 seeds for SAC and
TD3, 100,000 steps and 5 seeds for Rainbow. ``quick`` has fewer tasks and steps, more seeds where runs are short, and
the released code's widths of NERS's networks. At any scale, beta reaches 1 at the end of training.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from lab.entry import Entry
from papers.ners import pendulum_draws, shrinkage, train, train_rainbow
from papers.ners.evidence.plan import FIRST_SEED, PENDULUM, SEEDS_PER_FILE, WALKER, cells, files, seeds, tasks
from papers.ners.samplers import Settings
from papers.ners.td3 import LR as TD3_LR

FOUR = ("random", "per", "ero", "ners")
"""The paper's samplers."""


def _law(entry: Entry) -> bool:
    label = entry.method.removeprefix("td3 ")
    return label in ("ners", "ners environment", "ners code") and entry.seed == FIRST_SEED


HEADLINE: dict[str, Callable[[Entry], bool]] = {"own-why": lambda entry: True, "own-law": _law}
"""What `make reproduce` trains: NERS's law by three readings of the paper, one seed each, and why it is what it is:
with all seeds, since such a run takes a third of a minute, and one alone decides nothing."""

SMALL = dict(widths="code", train_size=16, ero_batch=16)
SMOKE: dict[str, Any] = dict(steps=240, random_steps=60, eval_every=24, batch_size=16, score_starts=2, sampling=SMALL)
QUICK_SAMPLING = dict(widths="code")
QUICK_STEPS = {
    ("sac", PENDULUM): 25_000,
    ("td3", PENDULUM): 20_000,
    ("sac", "Hopper-v4"): 100_000,
    ("td3", "Hopper-v4"): 100_000,
}
"""Lengths at which RANDOM solves the task, chosen on RANDOM alone; on Hopper a fifth of the paper's."""
RAINBOW: dict[str, dict[str, Any]] = {
    "smoke": dict(steps=120, random_steps=50, batch_size=16, eval_every=24, eval_episodes=1, target_every=50,
                  sampling=SMALL),
    "quick": dict(steps=40_000, eval_every=1_000, eval_episodes=3, sampling=QUICK_SAMPLING),
    "full": dict(),
}  # fmt: skip
TD3_RATES = (5e-3, 1e-3)
"""What the paper prints, and the default. At full, on Hopper, also the third rate from which that was chosen."""

READINGS: dict[str, dict[str, Any]] = {
    "ners": {},
    "ners episode": dict(time="episode"),
    "ners environment": dict(time="environment"),
    "ners tanh": dict(tanh_all=True),
    "ners first": dict(reference="first"),
    "ners i-train": dict(log_loss="train"),
    "ners wide": dict(widths="paper"),
    "ners code": dict(time="episode", tanh_all=True, reference="first", widths="code"),
}
"""Faithful readings of what the paper leaves open: label -> how it differs from ours at quick. "ners code": all
that the released code does; its n is the batch size, which is 128 here as in the paper."""


def entries(
    scale: str, experiment: str, env: str, agent: str, methods: Iterable[str] = FOUR, label: str = "", **changed: Any
) -> list[Entry]:
    """An agent with some samplers on one task with every seed of an experiment.

    changed: settings, those of the samplers included. label: what they make of the method's name."""
    usual: dict[str, Any] = {"sampling": QUICK_SAMPLING}
    usual |= {"steps": QUICK_STEPS[agent, env]} if (agent, env) in QUICK_STEPS else {}
    settings = {"smoke": SMOKE, "quick": usual, "full": {}}[scale]
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
        for method in methods for seed in seeds(scale, experiment)
    ]  # fmt: skip


def fig1(scale: str) -> list[Entry]:
    """The figure shows one run of each kind; the claims look at all."""
    steps = 300 if scale == "smoke" else 30_000
    found = []
    for label, terminal in (("sac random", False), ("sac random terminal", True)):
        for seed in seeds(scale, "fig1"):
            c = pendulum_draws.Config(seed=seed, steps=steps, timeout_terminal=terminal)
            found.append(Entry(label, c.env, c.seed, f"{pendulum_draws.__name__}:main", c))
    return found


def fig3(scale: str) -> list[Entry]:
    """Learning curves on classical and Box2D tasks; seed by seed, so that what there is can be compared."""
    found = [entry for agent, env in cells("fig3", scale) for entry in entries(scale, "fig3", env, agent)]
    return sorted(found, key=lambda entry: entry.seed)


def fig4(scale: str) -> list[Entry]:
    """Variants of NERS, with the samplers that they are compared with; on one task, RANDOM with independent draws."""
    found = []
    for env in tasks("fig4", scale):
        found += entries(scale, "fig4", env, "sac")
        found += entries(scale, "fig4", env, "sac", ("ners",), "ners*", replay_reward="training")
        if env == WALKER or scale != "full":
            found += entries(scale, "fig4", env, "sac", ("ners",), "ners few", features="few")
            found += entries(scale, "fig4", env, "sac", ("ners",), "ners no-global", global_context=False)
            found += entries(scale, "fig4", env, "sac", ("random-iid",))
    return found


def table1(scale: str) -> list[Entry]:
    """Table 1 and Fig. C.1: MuJoCo, seed by seed."""
    found = [entry for agent, env in cells("table1", scale) for entry in entries(scale, "table1", env, agent)]
    return sorted(found, key=lambda entry: entry.seed)


def table2(scale: str) -> list[Entry]:
    """Table 2 and Fig. C.2: Rainbow on Atari."""
    found = []
    settings = dict(RAINBOW[scale])
    sampling = Settings(**settings.pop("sampling", {}))
    for game in tasks("table2", scale):
        for seed in seeds(scale, "table2"):
            for method in FOUR:
                config: Any = train_rainbow.Config(game, method, seed, **settings, sampling=sampling)  # type: ignore[arg-type]
                found.append(Entry(f"rainbow {method}", game, seed, f"{train_rainbow.__name__}:main", config))
    return sorted(found, key=lambda entry: entry.seed)  # a first seed of every game before a second of any


def table3(scale: str) -> list[Entry]:
    """Statistics of what was replayed, on the pendulum with its own rewards; time-outs bootstrapped, and terminal.

    10,000 steps at quick, too.
    """
    changed: dict[str, Any] = {} if scale == "smoke" else dict(steps=10_000, random_steps=1_000)
    [(agent, env)] = cells("table3", scale)
    found = entries(scale, "table3", env, agent, **changed)
    for method in FOUR:
        label = f"{method} terminal"
        found += entries(scale, "table3", env, agent, (method,), label, timeout_terminal=True, **changed)
    return found


def own_law(scale: str) -> list[Entry]:
    """Not in the paper: NERS by every faithful reading of the paper, TD3 on the sparse pendulum."""
    [(agent, env)] = cells("own-law", scale)
    found = []
    for label, changed in READINGS.items():
        found += entries(scale, "own-law", env, agent, ("ners",), label, **changed)
    return found


TIME_STEPS = 100_000
"""Of own-time: about 500 updates of the scorer, where own-law's 20,000 steps make about 100."""


def own_time(scale: str) -> list[Entry]:
    """Not in the paper: RANDOM beside the one reading of the paper whose law leaves uniform in own-why, the step of the
    environment as time, for long enough that it can. The paper's widths, as in own-why; at full as at quick."""
    [(agent, env)] = cells("own-time", scale)
    changed: dict[str, Any] = {} if scale == "smoke" else dict(steps=TIME_STEPS, widths="paper")
    found = entries(scale, "own-time", env, agent, ("random",), **changed)
    found += entries(scale, "own-time", env, agent, ("ners",), "ners environment", time="environment", **changed)
    return sorted(found, key=lambda entry: entry.seed)


def own_td3_lr(scale: str) -> list[Entry]:
    """Not in the paper: TD3's learning rate with RANDOM."""
    found = []
    for agent, env in cells("own-td3-lr", scale):
        for lr in (*TD3_RATES, 3e-4) if env == "Hopper-v4" else TD3_RATES:
            found += entries(scale, "own-td3-lr", env, agent, ("random",), f"lr {lr:g}", lr=lr)
    return found


def own_why(scale: str) -> list[Entry]:
    """Not in the paper: how NERS's networks shrink the spread of their inputs. No agent learns in these runs."""
    small: dict[str, Any] = dict(transitions=300, updates=(0, 3, 6)) if scale == "smoke" else {}
    [(agent, env)] = cells("own-why", scale)
    found = []
    for time in ("share", "episode", "environment"):
        for rewards in ("signs", "positive"):
            for seed in seeds(scale, "own-why"):
                c = shrinkage.Config(env, seed=seed, rewards=rewards, sampling=Settings(time=time), **small)  # type: ignore[arg-type]
                found.append(Entry(f"{agent} {time} {rewards}", env, seed, f"{shrinkage.__name__}:main", c))
    return found


def in_files(name: str, make: Callable[[str], list[Entry]]) -> dict[str, Callable[[str], list[Entry]]]:
    """An experiment as the parts that its results are kept in."""

    def part(k: int, scale: str) -> list[Entry]:
        first = seeds(scale, name)[0]
        return [entry for entry in make(scale) if (entry.seed - first) // SEEDS_PER_FILE == k]

    return {file: partial(part, k) for k, file in enumerate(files(name))}


EXPERIMENTS: dict[str, Callable[[str], list[Entry]]] = {
    "own-why": own_why,
    "fig1": fig1,
    "table3": table3,
    **in_files("fig3", fig3),
    "own-law": own_law,
    **in_files("own-time", own_time),
    **in_files("fig4", fig4),
    "own-td3-lr": own_td3_lr,
    "table2": table2,
    "table1": table1,
}
"""In the order in which they are run."""
