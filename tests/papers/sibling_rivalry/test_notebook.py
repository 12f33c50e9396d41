"""The numbers of the notebook's findings are those of the committed runs; its tables are checked in test_readme.py."""

import functools
import re
from collections.abc import Iterable, Iterator

import numpy as np
import pandas as pd
import pytest

from lab.judge.intervals import mean_of
from lab.judge.scores import Runs
from papers.sibling_rivalry.agents.tasks import make_task
from papers.sibling_rivalry.evidence import claims_track as track
from papers.sibling_rivalry.evidence.claims import before_the_bar
from papers.sibling_rivalry.evidence.claims_appendix import INDEPENDENT, ORACLES, epsilon, found_after
from papers.sibling_rivalry.evidence.claims_build import HARDLY, LATER, SOON
from papers.sibling_rivalry.evidence.claims_runs import LAST, ends, solved, top_corridor
from papers.sibling_rivalry.evidence.ends import end_points
from papers.sibling_rivalry.evidence.experiments import FIG6_EPSILONS, LENGTHS, SIDES
from papers.sibling_rivalry.evidence.paper_values import ANT_CURVES, ANT_EPISODES, CURVES, EPISODES
from tests.papers.sibling_rivalry.test_readme import ROOM
from tests.test_findings import NUMBER, at_most, read, shown, spread

FINDINGS = (ROOM / "NOTEBOOK.md").read_text().partition("\n## Findings\n")[2].partition("\n## ")[0]
PARTS = re.split(r"^### .*\n+|^(?=\*\*|In \*\*)", re.sub(r"^[|!].*\n", "", FINDINGS, flags=re.M), flags=re.M)[1:]
SECTIONS = [part for part in PARTS if part.strip()]
MAZE, ANT, GRID = "PointMaze", "AntMazeSmall", "PixelGrid-7-25"
AN_EPOCH, OF_ANTS = 4_000, 1_600


@functools.cache
def runs(experiment: str, scale: str = "quick") -> Runs:
    return read("sibling_rivalry", experiment, scale)


def final(of: Runs, method: str, env: str = MAZE) -> np.ndarray:
    return of.last("success", method, env, LAST)


def span(values: Iterable[float]) -> tuple[float, float]:
    values = list(values)
    return min(values), max(values)


def never(of: Runs, *methods: str, env: str = MAZE) -> bool:
    """No success, in training or in an evaluation."""
    return not any(of.curve(one, method, env)[1].any() for one in ("success", "train_success") for method in methods)


def at(of: Runs, step: int, method: str, env: str = MAZE, metric: str = "success") -> np.ndarray:
    steps, values = of.curve(metric, method, env)
    return values[:, steps.tolist().index(step)]


def half(of: Runs, method: str, env: str = MAZE) -> list[int]:
    """When half of the trials succeed first, of the runs in which they do."""
    steps, values = of.curve("success", method, env)
    return [steps[curve >= 0.5][0] for curve in values if curve.max() >= 0.5]


def points(of: Runs, method: str, env: str, step: int = 0) -> pd.DataFrame:
    """Where the episodes of an evaluation, or of all, ended."""
    found = end_points(of.rows(method, env)).reset_index()
    return found[found["step"] == step] if step else found


def above_the_bar(where: pd.DataFrame) -> pd.Series:
    return (where["x"] < 6) & (where["y"] > 2)


def percent(method: str, of: Runs) -> float:
    """Of the episodes that end in the top corridor."""
    return float(ends(method, top_corridor)(of, MAZE).effect.partition("%")[0])


def curious(of: Runs) -> tuple[np.ndarray, np.ndarray]:
    """Steps and curve of the one run of ICM that finds the goal."""
    steps, values = of.curve("success", "ppo-icm", MAZE)
    [curve] = values[values.any(axis=1)]
    return steps, curve


# ---- the numbers of each section, in the order of its text -----------------------------------------------------------
def the_track() -> Iterator[float]:
    of, env = runs("track", "full"), track.ENV
    yield from (100 * track.TRAPPED.of(of, "naive", env).mean(), track.SUCCESS.of(of, "naive", env).max())
    closer, farther = (of.curve(f"{role} trapped", "sr", env)[1] for role in ("closer", "farther"))
    yield from (track.early(closer).mean() / track.early(farther).mean(), at_most(100 * closer.max(), 27))


def the_point_maze() -> Iterator[float]:
    full, quick, paper = runs("maze", "full"), runs("maze"), CURVES["fig3"]
    assert never(full, "ppo", "ppo-rnd", "ddpg-her")
    yield from (points(full, "ppo", MAZE)["step"].max() / AN_EPOCH, percent("ppo", full))
    end, theirs = mean_of(final(full, "ppo-sr")), dict(zip(EPISODES, paper["ppo-sr"]))
    yield from (end.value, *end.interval(), theirs[200_000], 100_000)
    assert all(at(full, step, "ppo-sr").mean() > theirs[step] + 0.1 for step in (40_000, 80_000))
    yield from (at(full, 100_000, "ppo-sr").mean(), theirs[100_000])
    steps, curve = curious(full)
    yield from (steps[curve > 0][0], EPISODES[np.flatnonzero(paper["ppo-icm"])[0]])
    yield from (-at_most(-curve[steps >= 48_000].min(), -0.97), 48_000, len(full.seeds("ppo", MAZE)))
    [failed] = np.flatnonzero(~solved(quick, "ppo-sr", MAZE))
    steps, curve = curious(quick)
    stays = slice(np.argmax(curve > 0.9), np.flatnonzero(curve)[-1] + 1)
    yield from (final(quick, "ppo-sr").mean(), steps[curve > 0][0], *span(curve[stays]), np.ptp(steps[stays]))
    yield at(full, quick.steps(MAZE), "ppo-sr")[failed]
    hours = [quick.rows(one, MAZE).groupby("seed")["hours"].max() for one in ("ppo", "ppo-sr")]
    yield from span(60 * pd.concat(hours))


def half_the_ant_maze() -> Iterator[float]:
    of, length = runs("ant"), runs("ant").steps(ANT)
    assert never(of, "ppo", "ppo-icm", "ddpg-her", env=ANT)
    yield before_the_bar(there := points(of, "ppo", ANT, 15 * OF_ANTS), ANT).sum()
    assert len(there) == 100
    yield from (at(of, epoch * OF_ANTS, "ppo", ANT, "distance").mean() for epoch in (15, 1))
    good = solved(of, "ppo-sr", ANT)
    after, end = zip(*sorted(zip(half(of, "ppo-sr", ANT), final(of, "ppo-sr", ANT)[good])))
    yield from (length, *after, *end, ANT_CURVES["ppo-sr"][ANT_EPISODES.index(length)], 15 * OF_ANTS)
    assert not of.curve("success", "ppo-sr", ANT)[1][~good].any()
    for seed in np.array(of.seeds("ppo-sr", ANT))[~good]:
        there = points(of, "ppo-sr", ANT, 15 * OF_ANTS).query(f"seed == {seed}")
        assert before_the_bar(there, ANT).any() and above_the_bar(there).any() and (there["x"] > 6).any()
    yield 15
    beyond = {one: points(of, one, ANT) for one in ("ppo-icm", "ddpg-her")}
    for where in beyond.values():
        yield from 100 * (~before_the_bar(where, ANT)).groupby(where["seed"]).mean()
        assert not above_the_bar(where).any()
    yield from (sum(map(len, beyond.values())), *(ANT_CURVES[one][ANT_EPISODES.index(length)] for one in beyond))
    [lead] = {spread(final(of, "ppo-sr", ANT), final(of, one, ANT)) for one in ("ppo", "ppo-icm", "ddpg-her")}
    yield from (*lead, len(ANT_CURVES) * 5, ANT_EPISODES[-1] * 500 / 1e6)


def for_fewer_episodes() -> Iterator[float]:
    of, task, rng = runs("ant-short"), make_task(ANT), np.random.default_rng(0)
    ppo, sr = (points(of, one, ANT, of.steps(ANT)) for one in ("ppo", "ppo-sr"))
    yield from (of.steps(ANT), before_the_bar(ppo, ANT).sum(), of.last("distance", "ppo", ANT).mean())
    yield task.distance(task.achieved(task.starts(2_000, rng)), task.goals(2_000, rng)).mean()
    yield from ((~before_the_bar(sr, ANT)).sum(), len(sr), above_the_bar(sr).sum())
    yield from 100 * np.sort(of.last("train_success", "ppo-sr", ANT))[-2:]


def the_low_level() -> Iterator[float]:
    of, side, later = runs("low-level"), ("low-level", "AntArena"), 2_000_000
    values = of.curve("success", *side)[1]
    before, end = of.curve("before", *side)[1].mean(), mean_of(values[:, -1])
    assert np.abs(of.first("distance", *side) - before).max() < 0.05
    yield from (before, 1, 100 * values[:, 0].mean(), later / 1e6)
    yield from (*span(at(of, later, *side, "distance")), 1, 100 * at(of, later, *side).mean())
    yield from (*(100 * values[values[:, -1].argmin(), -2:]), 50, 100 * end.value, *(100 * np.array(end.interval())))


def the_pixel_grid() -> Iterator[float]:
    of, late = runs("grid"), "ppo-sr (epsilon 2)"
    yield from (*span(final(of, "ppo-sr", GRID)), *span(final(of, "dqn-her", GRID)), *final(of, "dqn", GRID))
    assert spread(*(of.area("success", one, GRID) for one in ("ppo-sr", "dqn-her")))[1] > 0
    yield from sorted(of.last("success", "ppo-icm", GRID))[-2:]
    yield from (2, *span(final(of, late, GRID)), of.steps(GRID) // 2, 100 * sorted(at(of, 20_000, late, GRID))[3])


def the_dense_rewards() -> Iterator[float]:
    of = runs("dense-grid")
    steps, curves = of.curve("success", "dqn", GRID)
    from_then_on = sorted(steps[np.flatnonzero(curve < 0.95).max() + 1] for curve in curves)
    yield from (of.steps(GRID), *span(final(of, "dqn", GRID)), 0.95, *from_then_on[2:], CURVES["fig4"]["dqn"][-1])


def the_whole_grid() -> Iterator[float]:
    of, env, hers = runs("whole-grid"), "PixelGrid-13", ("dqn-her", "dqn-her (batches of 2560)")
    assert never(of, "ppo", env=env) and at(of, 24_000, "ppo-sr", env) < 0.01
    yield from (13, 13, of.steps(env), 24_000)
    for step in (28_000, 40_000):
        yield from (*at(of, step, "ppo-sr", env), step)
    yield from (CURVES["fig4"][one][EPISODES.index(40_000)] for one in ("ppo-sr", "dqn-her"))
    assert [400 * of.last("success", one, env).item() for one in hers] == [1, 0]
    yield from (400, 256, 2_560, *(of.last("q_mean", one, env).item() for one in hers), 0.98, 100 * (1 - 0.98))
    yield from (of.last("distance", one, env).item() for one in (*hers, "ppo"))


def construction() -> Iterator[float]:
    of, env = runs("construction"), "VoxelBuildSmall"
    steps, placed = of.curve("placed", "impala", env)
    again = [rows[0] for row in placed if len(rows := steps[(steps > SOON) & (row > HARDLY)])]
    assert len(again) == 4 and (placed[:, -1] > HARDLY).sum() == 1
    yield from (19, SOON, LATER, *span(again), of.last("completion", "impala", env, 5).max())
    still = (of.curve("entropy", "impala", env)[1][placed[:, -1] < HARDLY] < 0.01).all(axis=0)
    yield steps[still][0]
    built, exactly = (np.sort(of.last(one, "impala-sr", env, 5)) for one in ("completion", "success"))
    yield from (*built[[1, -1]], *(100 * exactly[[1, -1]]))
    values = of.curve("completion", "impala-sr", env)[1]
    assert (values[:, -5:].mean(axis=1) > values[:, -10:-5].mean(axis=1)).sum() == 3
    yield from (at(of, 90_000, "impala-sr", env, "completion")[0], values[0, -1], steps[-1] - 90_000)
    _, last, anew, *_, end = steps[of.curve("placed", "impala-sr", env)[1][-1] > HARDLY]
    assert values[-1, (steps >= anew) & (steps <= end)].mean() < 0
    yield from (last, anew - steps[0], end, *mean_of(of.last("completion median", "impala-sr", env, 5)).interval(), 0.9)


def corridors_and_u_mazes() -> Iterator[float]:
    corridors, u, longest = runs("corridors"), runs("u-mazes"), "Corridor-10"
    counts = {n: solved(u, "ppo-sr", f"UMaze-{n}").sum() for n in LENGTHS}
    yield from (n for count in (3, 1, 0) for n in LENGTHS if counts[n] == count)
    for env in ("UMaze-8", "UMaze-10"):
        assert 0.4 < (points(u, "ppo-sr", env, u.steps(env))[["x", "y"]].abs() <= 0.5).all(axis=1).mean() < 0.6
    good = {e: solved(u, epsilon(e), "UMaze-10").sum() for e in FIG6_EPSILONS}
    yield from (2, *(every := [e for e in good if good[e] == 3]))
    yield from span(step for e in every for step in half(u, epsilon(e), "UMaze-10"))
    yield from (*(e for e in good if not good[e]), 7, 8_000)
    assert (800 * at(corridors, 8_000, "ppo-icm", longest)).round().tolist() == [800, 799, 0]
    yield from corridors.last("success", "ppo-icm", longest)[solved(corridors, "ppo-icm", longest)]
    yield 100 * corridors.curve("success", "ddpg-her", longest)[1].max()
    assert never(u, "ppo-icm", "ddpg-her", env="UMaze-10")


def the_threshold() -> Iterator[float]:
    of, low = runs("epsilon"), (0, 1, 2, 3)
    found = {e: found_after(*of.curve("success", epsilon(e), MAZE)) for e in (*low, 5, 7, 10)}
    counts = {e: (after <= of.steps(MAZE)).sum() for e, after in found.items()}
    yield from (*(e for e in low if not counts[e]), of.steps(MAZE))
    yield from span(of.last("apart", epsilon(e), MAZE, LAST).mean() for e in low)
    yield from (*(e for e in (5, 7, 10) if not counts[e]), percent(epsilon(10), of))
    yield from (e for e in counts if counts[e] == 2)
    later, end = zip(*sorted(zip((found[7] - found[5])[:2], final(of, epsilon(7))[:2])))
    yield from (*later, *end, 5)


def independent_starts() -> Iterator[float]:
    of, both = runs("starts"), (INDEPENDENT, "ppo-sr")
    good = [solved(of, one, MAZE) for one in both]
    assert [one.sum() for one in good] == [10, 9]
    yield from (end for one, found in zip(both, good) for end in span(final(of, one)[found]))
    yield from (end for one in both for end in span(half(of, one)))
    for scale in (of, runs("starts", "full")):
        yield from spread(*(scale.area("success", one, MAZE) for one in both))
    areas = [of.area("success", one, GRID) for one in both]
    yield from (7, 7, *span([*final(of, both[0], GRID), *final(of, both[1], GRID)]), *map(np.mean, areas))
    yield from spread(*areas)[1:]


def the_grid_oracle() -> Iterator[float]:
    of, step = runs("oracle", "full"), 60_000
    yield from (*SIDES, sum(len(of.seeds(one, MAZE)) for one in ORACLES), of.steps(MAZE), step, 1, 3, 2)
    for scale in (of, runs("oracle")):
        reached = [scale.curve("train_success", one, MAZE)[1].sum() * AN_EPOCH for one in ORACLES]
        assert round(sum(reached)) == 1 and not any(scale.curve("success", one, MAZE)[1].any() for one in ORACLES)
        there = [points(scale, one, MAZE, step) for one in ORACLES]
        for one, inside in (there[0], there[0].eval("x > 8.5 and y < 2")), (there[2], top_corridor(there[2], MAZE)):
            assert inside.groupby(one["seed"]).mean().min() > 0.5
        centres = there[1].groupby("seed")[["x", "y"]].mean().to_numpy()
        assert min(np.linalg.norm(a - b) for i, a in enumerate(centres) for b in centres[:i]) > 1.5
    yield sum(len(runs("oracle").seeds(one, MAZE)) for one in ORACLES)


def the_oracle_among_ants() -> Iterator[float]:
    of = runs("ant-oracle")
    good = solved(of, "ppo-go", ANT)
    yield from (1, *half(of, "ppo-go", ANT), *final(of, "ppo-go", ANT)[good])
    assert good.sum() == 2 and not of.curve("train_success", "ppo-go", ANT)[1][~good].any()


def the_weighting() -> Iterator[float]:
    of, both = runs("weighting", "full"), ("ppo-sr", "ppo-sr (one pool)")
    yield from (end for one in both for end in span(final(of, one)))
    rates = [final(of, one) for one in both]
    yield from (*spread(*rates), *spread(*rates, paired=True)[1:], 0.87)  # which was before these runs
    sooner = [half(of, one) for one in both]
    assert np.less(*sooner).sum() == 4
    yield from (*sooner[0], *sooner[1])


NUMBERS = [
    the_track, the_point_maze, half_the_ant_maze, for_fewer_episodes, the_low_level, the_pixel_grid, the_dense_rewards,
    the_whole_grid, construction, corridors_and_u_mazes, the_threshold, independent_starts, the_grid_oracle,
    the_oracle_among_ants, the_weighting,
]  # fmt: skip


@pytest.mark.parametrize(("which", "numbers"), list(enumerate(NUMBERS)), ids=[one.__name__ for one in NUMBERS])
def test_every_number_is_that_of_the_committed_runs(which, numbers):
    found = NUMBER.findall(SECTIONS[which])
    assert len(SECTIONS) == len(NUMBERS) and found == shown(list(numbers()), found)


VERDICTS = {
    "reproduced": r"fig1-.*|fig2-(solved|closer)|fig3-(?!ant).*|fig6-corridor.*|fig7-(middle|high)|fig9-consistent",
    "partly": "fig2-farther|fig6-u|fig7-low",
    "inconclusive": "fig6-others|fig8-maze",
    "holds in a surrogate": "fig3-ant-(ppo|trap)|fig4-(ppo|toggle|fast|epsilon)|fig5-naive|fig9-ant-finds",
    "inconclusive in a surrogate": "fig3-ant-(?!ppo|trap).*|fig4-dqn|fig5-success|fig8-grid|fig9-ant-consistent",
    "does not hold in a surrogate": "fig4-icm",
    "not reproduced": "fig9-finds",
    "not reproduced (own)": "fig9-finds-some|own-weighting",
    "reproduced (own)": "own-dense-grid",
}
"""As the findings have it."""


def test_what_is_said_to_hold_and_to_be_undecided_is_that_of_the_verdicts():
    """Which test_house.py compares with the runs."""
    text = (ROOM / "VERDICTS.md").read_text()
    rows = re.findall(r"^\| .*\(`([\w-]+)`.*?\) \|.*\| ([^|]+) \| ([^|]+) \|$", text, re.M)
    for status, claims in VERDICTS.items():
        assert {found for claim, found, _ in rows if re.fullmatch(claims, claim)} == {status}
    assert len([claim for claim, *_ in rows if re.match("fig3-(?!ant)", claim)]) == 8
    assert {"fig5-better", "own-low-level"} <= {claim for claim, _, basis in rows if "FDR: inconclusive" in basis}
