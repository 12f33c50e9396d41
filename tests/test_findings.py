"""FINDINGS.md: every number in its paragraphs is that of the committed runs, and each finding has all its parts."""

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from arena.replay.evidence import gains as arena
from arena.replay.tasks import TASKS
from benchmarks import sokoban_curves
from lab.judge.intervals import difference
from lab.judge.results import Results
from lab.judge.scores import Runs
from papers.bias_reduced_her.evidence.claims_runs import LAST
from papers.ners.evidence import claims_law, claims_runs, plan
from papers.ref_er.evidence import claims_runs as ref_er
from papers.sibling_rivalry.evidence.claims_runs import solved
from papers.ter.train import Config as Ter

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "FINDINGS.md").read_text()
SECTIONS = dict(re.findall(r"^## (\d+)\. .*\n\n((?:(?!## ).*\n?)*)", TEXT, re.MULTILINE))
NUMBER = re.compile(r"(?<![\w.-])-?\d+(?:,\d{3})*(?:\.\d+)?(?!\w|-\w)")
"""As a word of its own: no part of a name such as 5x5-1."""


def read(room: str, experiment: str, scale: str = "quick") -> Runs:
    return Runs(Results(ROOT / "papers" / room / "evidence/results", (scale,)), experiment)


def spread(x: np.ndarray, y: np.ndarray, **how: bool) -> tuple[float, float, float]:
    """A difference with the ends of its interval."""
    found = difference(x, y, **how)
    return found.value, *found.interval()


def at_most(found: float, limit: float) -> float:
    """The limit that the text names, if it holds."""
    return limit if found <= limit else found


# ---- the numbers of each finding, in the order of its text -----------------------------------------------------------
HINDSIGHT = {
    task: read(
        "bias_reduced_her",
        "+".join(f"{part}-{task.lower()}" for part in ("training", "controls", "bootstrapped")),
        "full",
    )
    for task in ("Hand", "Robot")
}


def success(method: str, task: str = "Hand") -> float:
    """Mean over training and seeds."""
    return HINDSIGHT[task].curve("success", method, task)[1].mean()


def bootstrap_or_end() -> Iterator[float]:
    yield from (HINDSIGHT["Hand"].steps("Hand"), len(HINDSIGHT["Hand"].seeds("her", "Hand")))
    for method in ("her", "filtered-her"):
        yield from (success(f"{method}{reading}", task) for reading in ("", " (bootstrapped)") for task in HINDSIGHT)


def which_virtual_goals() -> Iterator[float]:
    push, task = read("bias_reduced_her", "fetch-her+fetch-filter"), "FetchPush"
    yield from (1, len(push.seeds("filtered-her", task)))
    assert push.last("env_steps", "filtered-her", task).max() == 1_000_000
    yield from (push.last("solved", one, task, LAST).mean() for one in ("her", "filtered-her", "her-thinned"))
    yield from spread(*(push.area("solved", one, task) for one in ("filtered-her", "her-thinned")), paired=True)
    runs = HINDSIGHT["Robot"]
    yield from (runs.steps("Robot"), len(runs.seeds("her", "Robot")))
    for method in ("her", "filtered-her", "her-thinned"):
        yield from (success(method, "Hand"), success(method, "Robot"))
    yield from (success("her-thinned (bootstrapped)", task) for task in HINDSIGHT)
    rest = [runs.area("success", method, env) for method, env in runs.groups if method != "none"]
    assert (runs.area("success", "none", "Robot") > np.max(rest, axis=0)).all()
    yield success("none", "Robot")


def the_bend() -> Iterator[float]:
    runs, task, released = read("ter", "fig3a"), "SimpleCrossing-Easy", "ter (1 predecessor)"
    yield from (1, 324, 324, 1)
    yield from (runs.steps(task), len(runs.seeds("uer", task)), 1)
    for env in (f"{task} (bend 1)", task):
        evaluations = len(runs.curve("success", "uer", env)[0]) - 1  # one is before learning
        ends = [runs.last("success", one, env, 3 * evaluations // 10).mean() for one in ("uer", "per", released)]
        yield from ends
    for env in (f"{task} (bend 1)", task):
        yield from spread(*(runs.area("normalized_return", one, env) for one in (released, "uer")), paired=True)


def in_stable_baselines3() -> Iterator[float]:
    frame = sokoban_curves.read(sokoban_curves.FOLDER / "sokoban_sb3.csv")
    last = frame["step"].max()
    yield from (last, frame.groupby(["settings", "method"])["seed"].nunique().min(), 100)
    ends, throughout = (rows.groupby(["settings", "method", "seed"])["success"].mean() for rows in
                        (frame[frame["step"] == last], frame))  # fmt: skip
    for settings in ("defaults", "often"):
        dqn, ter = ends[settings, "dqn"].to_numpy(), ends[settings, "ter"].to_numpy()
        yield from () if settings == "defaults" else (1_000,)
        yield from (dqn.mean(), ter.mean(), *spread(ter, dqn))
    yield from (throughout["often", "dqn"].mean(), throughout["often", "ter"].mean())


def of_the_arena() -> Iterator[float]:
    results = Results(ROOT / "arena/replay/evidence/results", ("quick",))
    found = arena.gains(results, "quick")
    clear = [one for one in found if one.p <= arena.limit(found)]
    up, down = ([one for one in clear if one.estimate.value * sign > 0] for sign in (1, -1))
    at = {(one.idea, one.env): one.estimate for one in found}
    yield from (len(TASKS), {one.seeds for one in at.values()}.pop(), len(found))
    beaten = {one.env for one in up}
    assert beaten == {"BitFlip-6", "Hand", "SparsePendulum"}
    yield from (len(beaten), len(TASKS))
    for env in ("BitFlip-6", "Hand"):
        assert "her" in max((one for one in found if one.env == env), key=lambda one: one.estimate.value).idea
    yield at["her", "BitFlip-6"].value
    for idea in ("ier", "rr-m", "per-rank"):
        yield from (at[idea, "SparsePendulum"].value, *at[idea, "SparsePendulum"].interval())
    wins = Counter(one.idea for one in up)
    assert [idea for idea in wins if "her" not in idea and wins[idea] > 1] == ["rr-m"]
    yield wins["rr-m"]
    assert not any(one.idea == "rr-m" for one in down)
    assert {("ebu", "Sokoban-5x5-1"), ("discor", "NChain-20")} == {(one.idea, one.env) for one in down}
    assert not wins["ners"] and not wins["ero"]


def returns(experiment: str) -> tuple[Runs, Callable[..., np.ndarray]]:
    """Runs of ReF-ER's room at quick, and the final returns (runs,) of a method on a task."""
    runs = ref_er.ROOM.runs(Results(ROOT / "papers/ref_er/evidence/results", ("quick",)), experiment)
    return runs, functools.partial(ref_er.score, runs)


def plain_replay() -> Iterator[float]:
    runs, ends = returns("fig4+fig4-rules")
    tasks = [env for method, env in runs.groups if method == "vracer er"]
    scores = {kind: np.array([ends(f"vracer {kind}", env) for env in tasks]) for kind in
              ("er", "refer-1", "refer-2", "refer")}  # fmt: skip
    yield from (scores["er"].size, len(tasks), runs.steps(tasks[0], "vracer er"), scores["er"].shape[1])
    limit = -10_000
    exploded = {kind: (ends_of < limit).sum() for kind, ends_of in scores.items()}
    yield from (exploded["er"], exploded["refer-1"], 1, limit, exploded["refer-2"], 2, exploded["refer"])
    million, ends_of_it = returns("own-million")
    assert million.steps("HalfCheetah-v5") == 1_000_000
    plain = ends_of_it("vracer er", "HalfCheetah-v5")
    yield from (len(plain), (plain < limit).sum(), ends_of_it("vracer refer", "HalfCheetah-v5").mean())
    yield from (1, 2, 2)  # the rules' names
    for task in ("HalfCheetah-v5", "Humanoid-v5"):
        yield from (ends(f"vracer {kind}", task).mean() for kind in ("refer", "refer-2"))


def noise() -> Iterator[float]:
    runs, ends = returns("own-annealing")
    one = functools.partial(ends, env="HalfCheetah-v5")
    yield from (runs.steps("HalfCheetah-v5"), len(one("ddpg er")))
    yield from (one(arm).mean() for arm in ("ddpg er", "ddpg er (white noise)", "ddpg refer", "ddpg refer (A 0)"))
    yield from spread(one("ddpg refer (A 0)"), one("ddpg er (white noise)"))


def the_threshold() -> Iterator[float]:
    maze, u = read("sibling_rivalry", "epsilon"), read("sibling_rivalry", "u-mazes")
    full = read("sibling_rivalry", "maze", "full")
    arm = "ppo-sr (epsilon {})".format

    def good(runs: Runs, env: str, *thresholds: int) -> list[int]:
        return [solved(runs, arm(one), env).sum() for one in thresholds]

    yield from (maze.steps("PointMaze"), 3, *good(maze, "PointMaze", 5), len(maze.seeds(arm(5), "PointMaze")), 5)
    bad = (0, 1, 2, 3, 10)
    best = max(maze.curve("success", arm(one), "PointMaze")[1].max() for one in bad)
    yield from (*bad, at_most(100 * best, 1))
    yield from (u.steps("UMaze-10"), len(u.seeds(arm(0), "UMaze-10")), min(good(u, "UMaze-10", 0, 1)), 0, 1)
    yield from (max(good(u, "UMaze-10", 2, 3, 5)), 2, 3, 5)
    yield from (full.steps("PointMaze"), 5, solved(full, "ppo-sr", "PointMaze").sum())
    yield from (len(full.seeds("ppo-sr", "PointMaze")), solved(full, "ppo", "PointMaze").sum())
    yield len(maze.seeds(arm(5), "PointMaze"))


def the_law() -> Iterator[float]:
    results = Results(ROOT / "papers/ners/evidence/results", ("quick",))
    runs, task = claims_runs.ROOM.runs(results, plan.read_as("fig3")), "SparsePendulum"
    law = functools.partial(claims_runs.late("tv_replayed"), runs)
    yield len(runs.seeds("sac ners", task))
    both = [law(f"{agent} ners", task).mean() for agent in ("sac", "td3")]
    yield from (at_most(max(both), 0.0004), runs.steps(task, "sac ners"), runs.steps(task, "td3 ners"))
    yield from (np.mean([law(f"{agent} {one}", task).mean() for agent in ("sac", "td3")]) for one in ("per", "ero"))
    yield from (claims_runs.score(runs, f"{agent} {one}", task).mean()
                for agent in ("sac", "td3") for one in ("ners", "random"))  # fmt: skip
    alone = [read("ners", "own-why", scale) for scale in ("full", "quick")]
    left = [claims_law.left_over(alone[0], f"none {time} signs", task).mean() for time in claims_law.TIMES]
    yield at_most(100 * max(left), 0.1)
    ends = np.concatenate([one.last("tv_replayed", "none share signs", task) for one in alone])
    yield from (alone[0].steps(task), 0.2, (100 * ends <= 0.2).sum(), len(ends))
    unbounded = np.concatenate([one.last("tv_replayed", "none environment signs", task) for one in alone])
    yield from ((unbounded > 0.02).sum(), len(unbounded))


def the_share() -> Iterator[float]:
    runs, task, released = read("ter", "fig5"), "SimpleCrossing-Easy", " (1 predecessor)"

    def over_training(eta: float, form: str = "", env: str = task) -> float:
        return runs.area("normalized_return", f"eta={eta:g}{form}", env).mean()

    yield from (runs.steps(task), len(runs.seeds("eta=0", task)), 1, over_training(0, released))
    for eta in (0.1, 0.5, 0.7):
        yield from (over_training(eta, released), eta)
    yield read("ter", "fig3a").area("normalized_return", "per", task).mean()
    yield from spread(*(runs.area("normalized_return", f"eta={eta}{released}", task) for eta in (0, 0.5)), paired=True)
    yield from (over_training(0, env="5x5-1"), over_training(0.7, env="5x5-1"), 0.7)
    yield from (Ter().predecessors, 1)
    learning = read("ter", "own-replayed")
    for method, count in (("ter", [3]), ("uer", []), ("ter (1 predecessor)", [1, 3])):
        yield learning.area("distance", method, task).mean()
        yield from count
    endless, no_end = read("ter", "fig-h10"), f"{task} (no terminal)"
    yield 1
    yield from spread(
        *(endless.area("normalized_return", name, no_end) for name in ("ter (1 predecessor)", "per")), paired=True
    )


FINDINGS = [
    bootstrap_or_end, which_virtual_goals, the_bend, in_stable_baselines3, of_the_arena, plain_replay, noise,
    the_threshold, the_law, the_share,
]  # fmt: skip


def shown(values: list[float], like: list[str]) -> list[str]:
    """The values with as many digits as the numbers of a text."""
    digits = [len(number.partition(".")[2]) for number in like] + [4] * len(values)
    return [f"{value:,.{n}f}" for value, n in zip(values, digits)]


@pytest.mark.parametrize(("which", "numbers"), list(enumerate(FINDINGS, 1)), ids=[one.__name__ for one in FINDINGS])
def test_every_number_is_that_of_the_committed_runs(which, numbers):
    found = NUMBER.findall(SECTIONS[str(which)].partition("\n\n![")[0])
    assert found == shown(list(numbers()), found)


def test_a_finding_has_all_its_parts():
    """A bold sentence, three to six more, a picture, a command, a link to the evidence; ten findings at most."""
    assert list(SECTIONS) == [str(n + 1) for n in range(len(FINDINGS))] and len(SECTIONS) <= 10
    for number, text in SECTIONS.items():
        paragraph, picture, command, links, *rest = text.strip().split("\n\n")
        sentences = re.split(r"(?<=[.*])\s+(?=[A-Z\d])", paragraph)
        assert re.fullmatch(r"\*\*[^*]+\.\*\*", sentences[0]) and 3 <= len(sentences[1:]) <= 6, number
        assert re.fullmatch(r"!\[[^\]]+\]\([^)]+\.png\)", picture), number
        assert re.fullmatch(r"```sh\n\.venv/bin/python -m .+\n```", command), number
        assert re.search(r"\]\([\w/]+\.md", links) and not rest, number
