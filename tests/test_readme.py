"""The first numbers that a reader meets, in README.md's table and at the top of each paper's page, are those of the
committed runs."""

from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest

from lab.judge.claims import evaluate
from lab.judge.intervals import MARGIN, mean_of
from lab.judge.results import Results
from lab.judge.scores import Runs
from lab.judge.verdicts import Verdict
from lab.rooms import ROOT, House
from papers.ners.evidence import claims_runs, plan
from papers.ners.evidence.plan import PENDULUM
from papers.ners.train import Config as Ners
from papers.ners.train_rainbow import Config as Rainbow
from papers.sibling_rivalry.evidence.claims_runs import final, solved
from papers.sibling_rivalry.evidence.paper_values import CURVES
from papers.ter.evidence.budgets import LARGEST_RETURN
from tests.test_findings import HINDSIGHT, NUMBER, at_most, read, returns, shown, spread, success

PAPERS = House().papers()
ROWS = {
    room: line.rstrip(" |").rpartition(" | ")[2]
    for line in (ROOT / "README.md").read_text().splitlines()
    for room in PAPERS
    if line.startswith("| <img") and f"](papers/{room})" in line
}
"""Room -> what was found there."""


def verdict(room: str, claim: str) -> Verdict:
    paper = PAPERS[room]
    [(_, found)] = evaluate([one for one in paper.claims if one.id == claim], Results(paper.results))
    return found


def counted(room: str, claim: str, status: str = "reproduced") -> int:
    return [part.status for part in verdict(room, claim).parts.values()].count(status)


def ran(room: str, claim: str) -> int:
    return sum(part.run > 0 for part in verdict(room, claim).parts.values())


def lead(room: str) -> str:
    """A paper's page between its authors and the next heading."""
    return (ROOT / f"papers/{room}/README.md").read_text().partition("\n## ")[0].split("\n\n", 2)[2]


SOKOBAN, CROSSING, RELEASED = ("5x5-1", "5x5-2", "6x6-1", "7x7-1"), "SimpleCrossing-Easy", "ter (1 predecessor)"
LAVA, HARD, LAVA_HARD = "LavaCrossing-Easy", "SimpleCrossing-Hard", "LavaCrossing-Hard"
DOOR = "DoorKey"


def levels(runs: Runs, env: str) -> Iterator[float]:
    """Share [%] of Sokoban's levels that TER solves in the last six evaluations; then the least and the most that the
    others do."""
    shares = {one: 100 * runs.last("success", one, env, 6).mean() for one in ("ter", "uer", "per", "ebu", "discor")}
    yield shares.pop("ter")
    yield from (min(shares.values()), max(shares.values()))


def peaks(runs: Runs, env: str, *methods: str) -> list[float]:
    """The largest share [%] of Sokoban's levels that each method solves in an evaluation, mean over the runs."""
    return [100 * runs.curve("success", one, env)[1].mean(axis=0).max() for one in methods]


def ends(runs: Runs, env: str, *methods: str) -> Iterator[float]:
    """Mean success in the last three tenths of the evaluations, of which one is before learning."""
    evaluations = len(runs.curve("success", "uer", env)[0]) - 1
    return (runs.last("success", one, env, 3 * evaluations // 10).mean() for one in methods)


# ---- the numbers of each cell, in the order of its text --------------------------------------------------------------
def ter() -> Iterator[float]:
    backups = verdict("ter", "fig2-thirty")
    yield from (backups.seeds, float(backups.effect))
    yield float(verdict("ter", "fig2-order").parts["EBU > TER"].effect.rstrip("x"))
    assert verdict("ter", "fig2-slow").status == "reproduced"
    yield 100
    runs = read("ter", "fig3b", "long")
    assert {env for _, env in runs.groups} == {*SOKOBAN, "6x6-2", "7x7-2"}
    assert max(peaks(runs, "7x7-2", "ter", "uer", "per", "ebu", "discor")) < 5
    assert {runs.steps(task) for task in SOKOBAN} == {1_000_000}
    assert all(verdict("ter", f"fig3b-{task}").status == "reproduced" for task in SOKOBAN)
    yield from (1, len(runs.seeds("ter", "7x7-1")), *levels(runs, "7x7-1"))
    assert {env for _, env in read("ter", "fig3a", "long").groups} == {CROSSING, LAVA, HARD, LAVA_HARD, DOOR}
    runs = read("ter", "fig3a")
    yield from (runs.steps(CROSSING), len(runs.seeds("uer", CROSSING)), 1)
    yield from ends(runs, f"{CROSSING} (bend 1)", RELEASED, "uer")
    yield from ends(runs, CROSSING, "uer", RELEASED)
    longer = read("ter", "fig3a", "long")
    yield from (longer.steps(DOOR), len(longer.seeds("uer", DOOR)), *ends(longer, DOOR, "uer", RELEASED))


def bias_reduced_her() -> Iterator[float]:
    push = read("bias_reduced_her", "fetch-her+fetch-filter")
    assert push.last("env_steps", "filtered-her", "FetchPush").max() == 1_000_000
    yield from (1, len(push.seeds("filtered-her", "FetchPush")))
    yield from (push.last("solved", one, "FetchPush", 5).mean() for one in ("filtered-her", "her", "her-thinned"))
    assert verdict("bias_reduced_her", "own-fetch-end").status == "inconclusive"
    yield verdict("bias_reduced_her", "fig3-filter").seeds
    for method in ("her", "filtered-her"):
        yield from (success(f"{method} (bootstrapped)", task) for task in ("Hand", "Robot"))
    yield from (success(method, task) for task in ("Hand", "Robot") for method in ("filtered-her", "her"))
    yield from (success("her-thinned", task) for task in ("Hand", "Robot"))


def sibling_rivalry() -> Iterator[float]:
    runs = read("sibling_rivalry", "maze", "full")
    yield len(runs.seeds("ppo-sr", "PointMaze"))
    end = mean_of(final(runs, "ppo-sr", "PointMaze"))
    yield from (end.value, *end.interval(), CURVES["fig3"]["ppo-sr"][-1])
    assert not any(solved(runs, one, "PointMaze").any() for one in ("ppo", "ppo-rnd", "ddpg-her"))
    icm, ants = solved(runs, "ppo-icm", "PointMaze"), read("sibling_rivalry", "ant")
    yield from (icm.sum(), len(icm), ants.steps("AntMazeSmall"))
    found = solved(ants, "ppo-sr", "AntMazeSmall")
    yield from (found.sum(), len(found))
    assert not solved(ants, "ppo", "AntMazeSmall").any()


def ref_er() -> Iterator[float]:
    claim = partial(verdict, "ref_er")
    yield from (claim("fig4-ppo").steps, 10, claim("fig4-ppo").seeds)  # 10 million in the paper
    yield from (counted("ref_er", "fig4-ppo"), ran("ref_er", "fig4-ppo"))
    yield from (counted("ref_er", "fig4-er", status) for status in ("reproduced", "inconclusive"))
    for figure in ("fig3", "fig1"):
        yield from (counted("ref_er", f"{figure}-refer"), ran("ref_er", f"{figure}-refer"))
    better = claim("fig4-acer").parts["HalfCheetah-v5"].parts.values()
    assert sorted(part.status for part in better) == ["not reproduced", "reproduced"]


def ners() -> Iterator[float]:
    runs = claims_runs.ROOM.runs(Results(PAPERS["ners"].results, ("quick",)), plan.read_as("fig3"))
    yield from (runs.steps("SparsePendulum"), len(runs.seeds("sac ners", "SparsePendulum")), 100 * MARGIN)
    for agent in ("sac", "td3"):
        ends = (claims_runs.score(runs, f"{agent} {one}", "SparsePendulum") for one in ("ners", "random"))
        yield from spread(*ends, paired=True)
    yield max(claims_runs.late("tv")(runs, f"{agent} ners", "SparsePendulum").mean() for agent in ("sac", "td3"))
    for table in ("table1-ners", "table2-ners"):
        found = verdict("ners", table)
        assert found.status == "inconclusive"
        yield from (found.steps, found.seeds) if table == "table1-ners" else (found.seeds,)


# ---- and of the first paragraphs of each page -----------------------------------------------------------------------
def ter_page() -> Iterator[float]:
    runs = read("ter", "fig3a")
    yield from (runs.steps(CROSSING), 1, LARGEST_RETURN[CROSSING])
    bent = list(ends(runs, f"{CROSSING} (bend 1)", "uer", "per", "ebu", "discor"))
    yield from (min(bent), max(bent))
    yield from (*ends(runs, f"{CROSSING} (bend 1)", RELEASED), 1, *ends(runs, f"{CROSSING} (bend 1)", "ter"), 3)
    four = ("uer", "per", RELEASED, "ter")
    yield from (*ends(runs, CROSSING, *four), 1, 3)
    alone = read("ter", "fig5")
    yield alone.last("success", "eta=0 (1 predecessor)", CROSSING, 6).mean()
    longer = read("ter", "fig3a", "long")
    yield longer.steps(LAVA)
    yield from (*ends(longer, CROSSING, *four), *ends(longer, LAVA, *four))
    yield from (longer.steps(HARD), *ends(longer, HARD, *four), *ends(longer, LAVA_HARD, *four))
    yield from (longer.steps(DOOR), *ends(longer, DOOR, *four), 1)
    sokoban = read("ter", "fig3b", "long")
    best, _, most = levels(sokoban, "6x6-2")
    yield from (1, *levels(sokoban, "6x6-1"), *levels(sokoban, "7x7-1"), at_most(most, 4), best)
    yield from list(ter())[:4]


def bias_reduced_her_page() -> Iterator[float]:
    cell = list(bias_reduced_her())
    push = read("bias_reduced_her", "fetch-her+fetch-filter")
    yield from (1, *cell[2:5], push.last("solved", "none", "FetchPush", 5).mean())
    ahead, *between = spread(*(push.area("solved", one, "FetchPush") for one in ("filtered-her", "her")), paired=True)
    yield from (ahead, 95, *between)
    yield from (HINDSIGHT["Hand"].steps("Hand"), cell[5], *cell[10:], *cell[6:10])
    thinned = [success("her-thinned (bootstrapped)", task) for task in HINDSIGHT]
    assert len({round(one, 2) for one in thinned}) == 1  # "on both"
    yield thinned[0]


def sibling_rivalry_page() -> Iterator[float]:
    yield read("sibling_rivalry", "maze", "full").steps("PointMaze")
    yield from list(sibling_rivalry())[1:5]
    grid, ants, built = (read("sibling_rivalry", name) for name in ("grid", "ant", "construction"))

    def good(method: str, builder: str) -> list[np.ndarray]:
        found = [solved(runs, method, env) for runs, env in ((grid, "PixelGrid-7-25"), (ants, "AntMazeSmall"))]
        return [*found, built.last("completion", builder, "VoxelBuildSmall", 3) > 0.5]

    for runs in good("ppo-sr", "impala-sr"):
        yield from (runs.sum(), len(runs))
    naive = good("ppo", "impala")
    yield from (*(runs.sum() for runs in naive), len(naive[-1]))


def ref_er_page() -> Iterator[float]:
    steps, _, _, *counts = ref_er()
    over_ppo, of_ppo, over_plain, _, *others = counts
    yield from (steps, over_ppo, of_ppo, over_plain, ran("ref_er", "fig4-er"), *others[:2])
    assert {verdict("ref_er", f"{figure}-implied").status for figure in ("fig2", "fig5")} == {"reproduced"}
    yield from (2, *others[2:])
    apart = [float(part.effect.rstrip("x")) for part in verdict("ref_er", "fig5-ppo").parts.values() if part.run]
    yield from (min(apart), max(apart))
    _, end = returns("fig8")
    yield from (end(one, "HalfCheetah-v5").mean() for one in ("vracer refer", "vracer refer (A 0)"))


def ners_page() -> Iterator[float]:
    runs, task = claims_runs.ROOM.runs(Results(PAPERS["ners"].results, ("quick",)), plan.read_as("fig3")), PENDULUM
    law = [claims_runs.late("tv_replayed")(runs, f"{agent} ners", task).mean() for agent in ("sac", "td3")]
    yield from (at_most(max(law), 0.0005), len(runs.seeds("sac ners", task)))
    yield from (runs.steps(task, f"{agent} ners") for agent in ("sac", "td3"))
    yield from (claims_runs.score(runs, f"{agent} {one}", task).mean()
                for agent in ("sac", "td3") for one in ("ners", "random"))  # fmt: skip
    yield from (verdict("ners", table).steps for table in ("table1-ners", "table2-ners"))
    yield from (Ners().steps, Rainbow().steps)


CELLS = [ter, bias_reduced_her, sibling_rivalry, ref_er, ners]
PAGES = [ter_page, bias_reduced_her_page, sibling_rivalry_page, ref_er_page, ners_page]


@pytest.mark.parametrize("numbers", CELLS + PAGES, ids=lambda one: one.__name__)
def test_every_number_is_that_of_the_committed_runs(numbers):
    room = numbers.__name__.removesuffix("_page")
    found = NUMBER.findall(ROWS[room] if numbers in CELLS else lead(room))
    assert found == shown(list(numbers()), found)
