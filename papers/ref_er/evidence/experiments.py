"""What is run for each figure, at each scale.

``smoke`` only proves that everything is wired. ``full`` is the paper's protocol: ten tasks, 10 million steps, 5 seeds.
``quick`` has 200,000 steps, 5 seeds (own-kl, own-memory and own-million 3, Fig. 8 10), and everything that depends on
the length of training is scaled with it: the annealing reaches the same end (A times steps is 5), the memory holds
16,384 steps (the smallest power of two with room for ten episodes of 1,000 steps), and beta, whose rate follows the
size of the memory, starts at 0.3. The flow-control task (Fig. 6), whose world is our own, has 3 seeds as in the paper,
at quick 50,000 actions and a memory of 8,192, at full a million actions.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from lab.entry import Entry
from papers.ref_er import train, train_acer, train_ppo
from papers.ref_er.tasks import TASKS


def _hopper(entry: Entry) -> bool:
    return entry.env == "Hopper-v5" and entry.method in ("vracer refer", "vracer er") and entry.seed < 3


HEADLINE = {"fig4": _hopper, "fig5": _hopper}
"""What `make reproduce` trains: figures, and which of their runs fit into an hour beside the other papers."""

SEEDS = {"smoke": 1, "quick": 5, "full": 5}
FEW = {**SEEDS, "quick": 3}
"""Of own-kl, own-memory and own-million."""
MANY = {**SEEDS, "quick": 10}
"""Of Fig. 8, whose claims say that something hardly matters: what takes more seeds than a difference."""
SCHEDULES: dict[str, dict[str, Any]] = {
    "smoke": dict(steps=300, bins=2, capacity=1024, warmup=600, batch_size=32, beta=0.3, annealing=5 / 300),
    "quick": dict(steps=200_000, bins=20, capacity=2**14, warmup=2**14, beta=0.3, annealing=5 / 200_000),
    "full": dict(),
}
PPO_SCHEDULES: dict[str, dict[str, Any]] = {
    "smoke": dict(steps=300, bins=2, warmup=300, rollout=100, batch_size=32, annealing=5 / 300),
    "quick": dict(steps=200_000, bins=20, warmup=2**14, annealing=5 / 200_000),
    "full": dict(),
}
ACER_SCHEDULES: dict[str, dict[str, Any]] = {
    "smoke": dict(steps=60, bins=2, warmup=300, capacity=1024, episodes=4, segment=5, annealing=5 / 60),
    "quick": dict(steps=200_000, bins=20, warmup=2**14, capacity=2**14, segment=10, annealing=5 / 200_000),
    "full": dict(),
}
"""Quick has segments of 10 steps, so that a gradient step sees 240 steps, about as many as V-RACER's; with the 4,800 of
the full protocol, a run of 200,000 steps would take hours."""
ENVS: dict[str, tuple[str, ...]] = {
    "smoke": ("Hopper-v5", "InvertedPendulum-v5"),
    "quick": ("HalfCheetah-v5", "Walker2d-v5", "Hopper-v5"),
    "full": tuple(TASKS),
}
WIDE_ENVS = {**ENVS, "quick": (*ENVS["quick"], "Ant-v5", "Humanoid-v5")}
"""Of Figs. 1, 2, 4 and 5, but for ACER and for DDPG's untuned arm."""
ONE_ENV = {**ENVS, "quick": ("HalfCheetah-v5",)}
"""Of ACER, the slowest, and of NAF with one rule alone."""
SENSITIVITY_ENVS: dict[str, tuple[str, ...]] = {
    "smoke": ("InvertedPendulum-v5",),
    "quick": ("Walker2d-v5", "HalfCheetah-v5"),
    "full": ("Humanoid-v5", "Ant-v5", "Walker2d-v5", "HalfCheetah-v5"),
}
"""Of Figs. 7 and 8. Their values are those of the authors' scripts; the paper's are in its pictures only."""
FIG8_ENVS = {**SENSITIVITY_ENVS, "quick": SENSITIVITY_ENVS["quick"][-1:]}
UNJUDGED = ("D 0.15", "B 128", "F 0.5", "F 2", "F 4")
"""Values of Fig. 7 that no claim reads which quick can judge. They are left to `full`, as is the smaller one of its two
larger memories."""
Settings = Sequence[tuple[str, dict[str, Any]]]
"""Of Figs. 7 and 8: a label, and what of a config changes."""
REPLAYS = ("er", "per", "refer", "refer-1", "refer-2")


def entries(
    scale: str, env: str, method: Any, replays: Iterable[Any], suffix: str = "", *, seeds: int = 0, **settings
) -> list[Entry]:
    """A learner with several kinds of replay on one task; `suffix` names what `settings` change. seeds: how many, by
    default all of the scale."""
    found = []
    for replay in replays:
        values: dict[str, Any] = SCHEDULES[scale] | settings
        if method == "ddpg" and replay in ("er", "per"):
            values["annealing"] = 0.0  # annealing makes them worse, Sec. 5.1
        for seed in range(seeds or SEEDS[scale]):
            config = train.Config(env, method, replay, seed, **values)
            found.append(Entry(f"{method} {replay}{suffix}", env, seed, f"{train.__name__}:main", config))
    return found


def fig1(scale: str) -> list[Entry]:
    """Figs. 1 and 2: DDPG with ReF-ER and with plain replay."""
    return [entry for env in WIDE_ENVS[scale] for entry in entries(scale, env, "ddpg", ("refer", "er"))]


def fig1_rules(scale: str) -> list[Entry]:
    """The same with one of ReF-ER's rules alone."""
    return [entry for env in WIDE_ENVS[scale] for entry in entries(scale, env, "ddpg", ("refer-1", "refer-2"))]


def fig1_others(scale: str) -> list[Entry]:
    """The same figures: PER; and, on fewer tasks, plain replay without what the paper found necessary with it (Sec.
    5.1): the critic's weight decay, and noise that is correlated in time."""
    found = [entry for env in WIDE_ENVS[scale] for entry in entries(scale, env, "ddpg", ("per",))]
    for env in ENVS[scale]:
        found += entries(scale, env, "ddpg", ("er",), " (untuned)", weight_decay=0.0, theta=1.0)
    return found


def fig3(scale: str) -> list[Entry]:
    """NAF; at quick with one rule alone on one task only."""
    return [
        entry
        for env in ENVS[scale]
        for entry in entries(scale, env, "naf", REPLAYS if env in ONE_ENV[scale] else ("er", "per", "refer"))
    ]


def fig4(scale: str) -> list[Entry]:
    """Figs. 4 and 5: V-RACER with ReF-ER and with plain replay."""
    return [entry for env in WIDE_ENVS[scale] for entry in entries(scale, env, "vracer", ("refer", "er"))]


def fig4_rules(scale: str) -> list[Entry]:
    """The same with one of ReF-ER's rules alone."""
    return [entry for env in WIDE_ENVS[scale] for entry in entries(scale, env, "vracer", ("refer-1", "refer-2"))]


def fig4_others(scale: str) -> list[Entry]:
    """The same figures: PPO, and ACER with two learning rates of its policy."""
    found = [entry for env in WIDE_ENVS[scale] for entry in ppo(scale, env)]
    for env in ONE_ENV[scale]:
        for lr in (1e-5, 1e-4):
            for seed in range(SEEDS[scale]):
                acer = train_acer.Config(env, seed=seed, lr=lr, **ACER_SCHEDULES[scale])
                found.append(Entry(f"acer (lr {lr:g})", env, seed, f"{train_acer.__name__}:main", acer))
    return found


def ppo(scale: str, env: str, suffix: str = "", **settings) -> list[Entry]:
    """PPO on one task; `suffix` names what `settings` change."""
    configs = [train_ppo.Config(env, seed=seed, **(PPO_SCHEDULES[scale] | settings)) for seed in range(SEEDS[scale])]
    return [Entry(f"ppo{suffix}", env, c.seed, f"{train_ppo.__name__}:main", c) for c in configs]


FLOW_ENVS = {"smoke": "WakeFlow-v0", "quick": "WakeFlow-v0", "full": "WakeFlow32-v0"}
FLOW_SEEDS = {"smoke": 1, "quick": 3, "full": 3}
"""Of Fig. 6, as in the paper."""
_FLOW_SMOKE: dict[str, Any] = dict(steps=24, bins=2, warmup=40, capacity=64, hidden=8, window=4, annealing=5 / 24)
_FLOW_QUICK: dict[str, Any] = dict(
    steps=50_000, bins=20, warmup=2**13, capacity=2**13, hidden=32, annealing=5 / 50_000
)  # fmt: skip
FLOW_SCHEDULES: dict[str, dict[str, Any]] = {
    "smoke": dict(_FLOW_SMOKE, batch_size=16, beta=0.3),
    "quick": dict(_FLOW_QUICK, beta=0.3),
    "full": dict(steps=10**6, bins=50, hidden=32),
}
FLOW_ACER_SCHEDULES: dict[str, dict[str, Any]] = {
    "smoke": dict(_FLOW_SMOKE, episodes=3, segment=4),
    "quick": dict(_FLOW_QUICK, segment=10),
    "full": dict(steps=10**6, bins=50, hidden=32),
}


def fig6(scale: str) -> list[Entry]:
    """The swimmer in the wake, seen in part, with recurrent networks and otherwise the settings of the MuJoCo tasks."""
    env, found = FLOW_ENVS[scale], []
    for method, replay in (("vracer", "refer"), ("ddpg", "er"), ("ddpg", "refer")):
        for seed in range(FLOW_SEEDS[scale]):
            values = FLOW_SCHEDULES[scale] | ({"annealing": 0.0} if replay == "er" else {})
            config = train.Config(env, method, replay, seed, network="lstm", **values)  # type: ignore[arg-type]
            found.append(Entry(f"{method} {replay}", env, seed, f"{train.__name__}:main", config))
    for seed in range(FLOW_SEEDS[scale]):
        acer = train_acer.Config(env, seed=seed, network="lstm", **FLOW_ACER_SCHEDULES[scale])
        found.append(Entry(f"acer (lr {acer.lr:g})", env, seed, f"{train_acer.__name__}:main", acer))
    return found


def fig7(scale: str, envs: Iterable[str] = ()) -> list[Entry]:
    """Fig. 7: V-RACER's sensitivity to C and D, one changed at a time, as all of Fig. 7; and V-RACER as it is."""
    settings = [("", {}), *((f"C {c:g}", dict(c=c)) for c in (2.0, 8.0))]
    return sensitivity([*settings, *((f"D {d:g}", dict(tolerance=d)) for d in (0.05, 0.15, 0.2))], scale, envs)


def fig7_memory(scale: str, envs: Iterable[str] = ()) -> list[Entry]:
    """The same for the memory's size N and the batch B; the warm-up and the rate of beta, which by default follow N and
    B, stay."""
    usual = train.Config(**SCHEDULES[scale])
    rate = train.make_refer(usual).rate
    sizes = [usual.capacity * factor for factor in ((4,) if scale == "quick" else (2, 4))]
    settings = [(f"N 2^{n.bit_length() - 1}", dict(capacity=n, beta_rate=rate)) for n in sizes]
    return sensitivity([*settings, *((f"B {b}", dict(batch_size=b, beta_rate=rate)) for b in (64, 128, 512))], scale, envs)


def fig7_updates(scale: str) -> list[Entry]:
    """The same for the steps per gradient step F, and the learning rate."""
    settings = [(f"F {f:g}", dict(steps_per_update=f)) for f in (0.2, 0.5, 2.0, 4.0)]
    return sensitivity([*settings, *((f"lr {lr:g}", dict(lr=lr)) for lr in (3e-5, 3e-4))], scale)


def fig7_ant(scale: str) -> list[Entry]:
    """Fig. 7's C, D, N and B on Ant, in a file of their own; F and the learning rate are judged elsewhere or at full."""
    envs = SENSITIVITY_ENVS["smoke"] if scale == "smoke" else ("Ant-v5",)
    return [*fig7(scale, envs), *fig7_memory(scale, envs)]


def fig8(scale: str) -> list[Entry]:
    """Fig. 8: V-RACER's sensitivity to the annealing A and the width S of the network; and V-RACER as it is."""
    settings: Settings = [("", {}), ("A 0", dict(annealing=0.0)), *((f"S {s}", dict(hidden=s)) for s in (92, 180))]
    return sensitivity(settings, scale, FIG8_ENVS[scale], MANY[scale])


def fig8_advantages(scale: str) -> list[Entry]:
    """The same for a closed-form advantage."""
    settings = [(f"advantage {kind}", dict(advantage=kind)) for kind in ("quadratic", "gaussian")]
    return sensitivity(settings, scale, FIG8_ENVS[scale], MANY[scale])


def sensitivity(settings: Settings, scale: str, envs: Iterable[str] = (), seeds: int = 0) -> list[Entry]:
    """V-RACER with ReF-ER, with each of the settings, (name, what changes), that the scale has. envs, seeds: by default
    those of Fig. 7."""
    return [
        entry
        for env in envs or SENSITIVITY_ENVS[scale]
        for name, changed in settings
        if scale != "quick" or name not in UNJUDGED
        for entry in entries(scale, env, "vracer", ("refer",), f" ({name})" if name else "", seeds=seeds, **changed)
    ]


def own_kl(scale: str) -> list[Entry]:
    """Both directions of Rule 2's divergence: the paper's, and that of the authors' program."""
    return [
        entry
        for env in SENSITIVITY_ENVS[scale][-1:]
        for suffix, reverse in (("", False), (" (reverse KL)", True))
        for entry in entries(scale, env, "vracer", ("refer",), suffix, seeds=FEW[scale], reverse_kl=reverse)
    ]


MEMORIES = {"smoke": 2**11, "quick": 2**18, "full": 2**20}
"""Of own-memory: a larger one. That of quick is the paper's, in which all of a run has room."""


def own_memory(scale: str) -> list[Entry]:
    """DDPG with plain replay and a larger memory, with nothing else changed: the question of Fig. 2."""
    size = MEMORIES[scale]
    return [
        entry
        for env in SENSITIVITY_ENVS[scale]
        for suffix, changed in (("", {}), (f" (N 2^{size.bit_length() - 1})", dict(capacity=size)))
        for entry in entries(scale, env, "ddpg", ("er",), suffix, seeds=FEW[scale], **changed)
    ]


def own_annealing(scale: str) -> list[Entry]:
    """What annealing hides: DDPG with ReF-ER without any, as plain replay is, c_max constant, too; and PPO without.

    And what is not the replay's doing there: plain replay with the white noise that ReF-ER explores with.
    """
    [env] = SENSITIVITY_ENVS[scale][-1:]
    return [
        *entries(scale, env, "ddpg", ("er", "refer")),
        *entries(scale, env, "ddpg", ("er",), " (white noise)", theta=1.0),
        *entries(scale, env, "ddpg", ("refer",), " (A 0)", annealing=0.0),
        *entries(scale, env, "vracer", ("refer",)),
        *ppo(scale, env),
        *ppo(scale, env, " (A 0)", annealing=0.0),
    ]


MILLION: dict[str, dict[str, Any]] = {"smoke": SCHEDULES["smoke"], "quick": dict(steps=10**6, bins=20), "full": {}}
"""The paper's settings, memory and warm-up included, up to a tenth of its steps; at full the runs of fig4."""


def own_million(scale: str) -> list[Entry]:
    """V-RACER with ReF-ER and with plain replay as in the paper, at quick for its first million steps."""
    [env] = SENSITIVITY_ENVS[scale][-1:]
    seeds = FEW[scale]
    configs = [
        train.Config(env, "vracer", replay, seed, **MILLION[scale])  # type: ignore[arg-type]
        for replay in ("refer", "er")
        for seed in range(seeds)
    ]
    return [Entry(f"vracer {c.replay}", env, c.seed, f"{train.__name__}:main", c) for c in configs]


def own_segments(scale: str) -> list[Entry]:
    """ACER with the full protocol's segments of 200 steps and quick's length; at full the same runs as at quick."""
    scale = "quick" if scale == "full" else scale
    values = ACER_SCHEDULES[scale] | {"segment": 10 if scale == "smoke" else 200}
    configs = [train_acer.Config(ONE_ENV[scale][0], seed=seed, **values) for seed in range(FEW[scale])]
    return [Entry("acer (segments of 200)", c.env, c.seed, f"{train_acer.__name__}:main", c) for c in configs]


EXPERIMENTS: dict[str, Callable[[str], list[Entry]]] = {
    "fig1": fig1,
    "fig1-rules": fig1_rules,
    "fig1-others": fig1_others,
    "fig3": fig3,
    "fig4": fig4,
    "fig4-rules": fig4_rules,
    "fig4-others": fig4_others,
    "fig6": fig6,
    "fig7": fig7,
    "fig7-memory": fig7_memory,
    "fig7-updates": fig7_updates,
    "fig7-ant": fig7_ant,
    "fig8": fig8,
    "fig8-advantages": fig8_advantages,
    "own-kl": own_kl,
    "own-memory": own_memory,
    "own-annealing": own_annealing,
    "own-million": own_million,
    "own-segments": own_segments,
}


def entries_of(experiment: str, scale: str) -> list[Entry]:
    """The runs of an experiment at a scale; of "a+b", those of both."""
    return [entry for name in experiment.split("+") for entry in EXPERIMENTS[name](scale)]
