"""What is run for each figure, at each scale.

`smoke` only proves that everything is wired. `full` is the paper's protocol: ten tasks, 10 million steps, 5 seeds.
`quick` has 200,000 steps, and what depends on the length of training is scaled with it: the annealing reaches the same
end (A times steps is 5), the memory holds 16,384 steps (the smallest power of two with room for ten episodes of 1,000
steps), and beta, whose rate follows the size of the memory, starts at 0.3. Fig. 6's world is our own; it has 3 seeds as
in the paper, at quick 50,000 actions and a memory of 8,192, at full a million actions.
"""

from collections.abc import Iterable
from typing import Any

from lab.sweep.entry import Entry
from lab.sweep.grid import Experiment, Scales, each, grid
from papers.ref_er import train, train_acer, train_ppo
from papers.ref_er.agents.tasks import TASKS

SEEDS = Scales(1, 5, 5)
FEW = Scales(1, 3, 5)
"""Of what costs more."""
MANY = Scales(1, 10, 5)
"""Of Fig. 8, whose claims say that something hardly matters: what takes more seeds than a difference."""

BUDGET = Scales(
    smoke=dict(steps=300, bins=2, capacity=1024, warmup=600, batch_size=32, beta=0.3, annealing=5 / 300),
    quick=dict(steps=200_000, bins=20, capacity=2**14, warmup=2**14, beta=0.3, annealing=5 / 200_000),
)
MILLION = Scales(BUDGET.smoke, dict(steps=10**6, bins=20))
"""The paper's settings, memory and warm-up included, up to a tenth of its steps; at full the runs of fig4."""
PPO = Scales(
    smoke=dict(steps=300, bins=2, warmup=300, rollout=100, batch_size=32, annealing=5 / 300),
    quick=dict(steps=200_000, bins=20, warmup=2**14, annealing=5 / 200_000),
)
ACER = Scales(
    smoke=dict(steps=60, bins=2, warmup=300, capacity=1024, episodes=4, segment=5, annealing=5 / 60),
    quick=dict(steps=200_000, bins=20, warmup=2**14, capacity=2**14, segment=10, annealing=5 / 200_000),
)
"""Segments of 10 steps at quick: a gradient step sees 240 steps, about as many as V-RACER's. With the 4,800 of the full
protocol, a run of 200,000 steps would take hours."""
FLOW = Scales(
    smoke=dict(steps=24, bins=2, warmup=40, capacity=64, hidden=8, window=4, annealing=5 / 24),
    quick=dict(steps=50_000, bins=20, warmup=2**13, capacity=2**13, hidden=32, annealing=5 / 50_000),
    full=dict(steps=10**6, bins=50, hidden=32),
) | dict(network="lstm")
FLOW_REFER = FLOW | Scales(dict(batch_size=16, beta=0.3), dict(beta=0.3))
FLOW_ACER = FLOW | Scales(dict(episodes=3, segment=4), dict(segment=10))
FLOW_TASK, FLOW_SEEDS = Scales("WakeFlow-v0", "WakeFlow-v0", "WakeFlow32-v0"), Scales(1, 3, 3)

WIDE = Scales(
    smoke=("Hopper-v5", "InvertedPendulum-v5"),
    quick=("HalfCheetah-v5", "Walker2d-v5", "Hopper-v5", "Ant-v5", "Humanoid-v5"),
    full=tuple(TASKS),
)
"""Of Figs. 1, 2, 4 and 5."""
THREE = Scales(WIDE.smoke, WIDE.quick[:3], WIDE.full)
"""Of NAF, and of DDPG's untuned arm."""
ONE = Scales(WIDE.smoke, WIDE.quick[:1], WIDE.full)
"""Of ACER, the slowest, and of NAF with one rule alone."""
SENSITIVITY = Scales(
    smoke=("InvertedPendulum-v5",),
    quick=("Walker2d-v5", "HalfCheetah-v5"),
    full=("Humanoid-v5", "Ant-v5", "Walker2d-v5", "HalfCheetah-v5"),
)
"""Of Figs. 7 and 8. Their values are those of the authors' scripts; the paper's are in its pictures only."""
FIG8_TASKS = Scales(SENSITIVITY.smoke, SENSITIVITY.quick[-1:], SENSITIVITY.full)
ANT = Scales([], "Ant-v5", [])
LAST = each(SENSITIVITY, lambda tasks: tasks[-1:])
UNJUDGED = ("(D 0.15)", "(N 2^15)", "(B 128)", "(F 0.5)", "(F 2)", "(F 4)")
"""Values of Fig. 7 that no claim reads which quick can judge; they are left to `full`."""


def _hopper(entry: Entry) -> bool:
    return entry.env == "Hopper-v5" and entry.method in ("vracer refer", "vracer er") and entry.seed < 3


HEADLINE = {"fig4": _hopper, "fig5": _hopper}
"""What `make reproduce` trains: figures, and which of their runs fit into an hour beside the other papers."""


def learners(labels: Any) -> dict[str, Any]:
    """Variants of train.py: the labels, or label -> settings, begin with the method and the replay."""
    found: dict[str, Any] = {}
    for label in labels:
        method, replay, *_ = label.split()
        plain = method == "ddpg" and replay in ("er", "per")  # annealing makes them worse, Sec. 5.1
        found[label] = dict(replay=replay) | (dict(annealing=0.0) if plain else {})
        found[label] |= labels[label] if isinstance(labels, dict) else {}
    return found


def mujoco(tasks: Scales, variants: Any, seeds: Scales = SEEDS, budget: Scales = BUDGET) -> Experiment:
    """Variants of train.py, by default on MuJoCo's tasks."""
    return grid(train, tasks, each(variants, learners), seeds, budget)


def changing(letter: str, setting: str, values: Iterable[float], **settings: Any) -> dict[str, Any]:
    """Variants: V-RACER with ReF-ER at these values of a setting."""
    return {f"vracer refer ({letter} {value:g})": {setting: value} | settings for value in values}


def larger(method: str, sizes: Iterable[int], **settings: Any) -> dict[str, Any]:
    """Variants: a method with memories of these sizes."""
    return {f"{method} (N 2^{size.bit_length() - 1})": dict(capacity=size) | settings for size in sizes}


def memory(budget: dict[str, Any]) -> dict[str, Any]:
    """Variants: larger memories and other batches; the warm-up and the rate of beta, which by default follow N and B,
    stay."""
    usual = train.Config(**budget)
    rate = train.make_refer(usual).rate
    sizes = (2 * usual.capacity, 4 * usual.capacity)
    return larger("vracer refer", sizes, beta_rate=rate) | changing("B", "batch_size", (64, 128, 512), beta_rate=rate)


def judged(variants: Any) -> Scales:
    """At quick without the values that no claim reads there."""
    found = each(variants, dict)
    return Scales(found.smoke, {k: v for k, v in found.quick.items() if not k.endswith(UNJUDGED)}, found.full)


DEFAULT: dict[str, Any] = {"vracer refer": {}}
FIG7 = judged(DEFAULT | changing("C", "c", (2.0, 8.0)) | changing("D", "tolerance", (0.05, 0.15, 0.2)))
FIG7_MEMORY = judged(each(BUDGET, memory))
FIG7_UPDATES = judged(changing("F", "steps_per_update", (0.2, 0.5, 2.0, 4.0)) | changing("lr", "lr", (3e-5, 3e-4)))
FIG8 = DEFAULT | changing("A", "annealing", [0.0]) | changing("S", "hidden", (92, 180))

EXPERIMENTS: dict[str, Experiment] = {
    # Figs. 1 and 2
    "fig1": mujoco(WIDE, ["ddpg refer", "ddpg er"]),
    "fig1-rules": mujoco(WIDE, ["ddpg refer-1", "ddpg refer-2"]),
    # untuned: without what the paper found necessary with plain replay (Sec. 5.1), the critic's weight decay, and noise
    # that is correlated in time
    "fig1-others": mujoco(WIDE, ["ddpg per"])
    + mujoco(THREE, {"ddpg er (untuned)": dict(weight_decay=0.0, theta=1.0)}),
    "fig3": mujoco(ONE, ["naf er", "naf per", "naf refer", "naf refer-1", "naf refer-2"])
    + mujoco(Scales([], THREE.quick[1:], []), ["naf er", "naf per", "naf refer"]),
    # Figs. 4 and 5
    "fig4": mujoco(WIDE, ["vracer refer", "vracer er"]),
    "fig4-rules": mujoco(WIDE, ["vracer refer-1", "vracer refer-2"]),
    "fig4-others": grid(train_ppo, WIDE, "ppo", SEEDS, PPO)
    + grid(train_acer, ONE, {f"acer (lr {lr:g})": dict(lr=lr) for lr in (1e-5, 1e-4)}, SEEDS, ACER),
    # the swimmer in the wake, seen in part, with recurrent networks and otherwise the settings of the MuJoCo tasks
    "fig6": mujoco(FLOW_TASK, ["vracer refer", "ddpg er", "ddpg refer"], FLOW_SEEDS, FLOW_REFER)
    + grid(train_acer, FLOW_TASK, "acer (lr 1e-05)", FLOW_SEEDS, FLOW_ACER),
    "fig7": mujoco(SENSITIVITY, FIG7),
    "fig7-memory": mujoco(SENSITIVITY, FIG7_MEMORY),
    "fig7-updates": mujoco(SENSITIVITY, FIG7_UPDATES),
    # at quick, in a file of its own; at full fig7 has it. F and the learning rate are judged elsewhere or at full
    "fig7-ant": mujoco(ANT, FIG7) + mujoco(ANT, FIG7_MEMORY),
    "fig8": mujoco(FIG8_TASKS, FIG8, MANY),
    "fig8-advantages": mujoco(
        FIG8_TASKS, {f"vracer refer (advantage {a})": dict(advantage=a) for a in ("quadratic", "gaussian")}, MANY
    ),
    # both directions of Rule 2's divergence: the paper's, and that of the authors' program
    "own-kl": mujoco(LAST, DEFAULT | {"vracer refer (reverse KL)": dict(reverse_kl=True)}, FEW),
    # Fig. 2's question: plain replay with a larger memory, at quick the paper's, in which all of a run has room
    "own-memory": mujoco(
        SENSITIVITY, each(Scales(2**11, 2**18, 2**20), lambda n: {"ddpg er": {}} | larger("ddpg er", [n])), FEW
    ),
    # what annealing hides: ReF-ER and PPO without any, as plain replay is, c_max constant, too. And what is not the
    # replay's doing: plain replay with the white noise that ReF-ER explores with
    "own-annealing": mujoco(
        LAST,
        {
            "ddpg er": {}, "ddpg refer": {}, "ddpg er (white noise)": dict(theta=1.0),
            "ddpg refer (A 0)": dict(annealing=0.0), "vracer refer": {},
        },
    )
    + grid(train_ppo, LAST, {"ppo": {}, "ppo (A 0)": dict(annealing=0.0)}, SEEDS, PPO),
    "own-million": mujoco(LAST, ["vracer refer", "vracer er"], FEW, MILLION),
    # the full protocol's segments, and quick's length
    "own-segments": grid(
        train_acer, each(ONE, lambda tasks: tasks[:1]), "acer (segments of 200)", FEW,
        ACER | dict(segment=Scales(10, 200, 200)),
    ).full_as_quick(),
}  # fmt: skip


def entries_of(experiment: str, scale: str) -> list[Entry]:
    """The runs of an experiment at a scale; of "a+b", those of both."""
    return [entry for name in experiment.split("+") for entry in EXPERIMENTS[name](scale)]
