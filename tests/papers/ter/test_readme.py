"""README.md: every number of what came out is that of the committed runs."""

from collections.abc import Iterator

from lab.judge.scores import Runs
from lab.rooms import ROOT
from papers.ter.evidence.experiments import EXPERIMENTS
from tests.test_findings import NUMBER, at_most, read, shown
from tests.test_readme import CROSSING, HARD, RELEASED, levels, peaks, verdict

TER = (RELEASED, "ter")
BASELINES = ("uer", "per", "ebu", "discor")
ALL = (*BASELINES, *TER)


def over(runs: Runs, env: str, *methods: str) -> Iterator[float]:
    """Mean return over training."""
    return (runs.area("normalized_return", method, env).mean() for method in methods)


def numbers() -> Iterator[float]:
    fig3a = read("ter", "fig3a")
    yield from (fig3a.steps(CROSSING), 1, 3, 1, 1)
    yield from (1, 3, *over(fig3a, CROSSING, *ALL))
    yield from over(read("ter", "fig5"), CROSSING, "eta=0 (1 predecessor)", "eta=0")
    yield from (10, *over(read("ter", "fig-g9"), f"{CROSSING} (10 % random)", *ALL))
    yield from over(read("ter", "fig-h10"), f"{CROSSING} (no terminal)", *ALL)
    yield from (1, *over(fig3a, f"{CROSSING} (bend 1)", *ALL))
    yield from (*(read("ter", "fig3a", "long").steps(task) for task in (CROSSING, HARD)), 1, 3, 40, 1)

    runs = read("ter", "fig3b", "long")
    yield from (1, next(levels(runs, "6x6-1")))
    yield from (100 * runs.last("success", one, "6x6-1", 6).mean() for one in ("uer", "discor", "ebu"))
    early = {env: peaks(runs, env, *BASELINES) for env in ("7x7-1", "6x6-2")}
    yield from (next(levels(runs, "7x7-1")), max(early["7x7-1"]))
    full = {entry.config.steps for entry in EXPERIMENTS["fig3b"]("full") if entry.env == "6x6-2"}
    yield from (full.pop() / 1_000_000, min(early["6x6-2"]), max(early["6x6-2"]))
    yield 100 * runs.last("success", "ter", "6x6-2", 6).max()
    yield at_most(max(peaks(runs, "7x7-2", *BASELINES, "ter")), 5)
    yield from (read("ter", "fig3b").steps("5x5-1"), EXPERIMENTS["own-levels"]("quick")[0].config.levels)
    memory = read("ter", "own-memory")
    for name in ("{} (small memory)", "{}"):
        all_but_ebu = [*over(memory, "5x5-1", *(name.format(one) for one in ("uer", "per", "discor")))]
        yield from (min(all_but_ebu), max(all_but_ebu))
    yield from over(memory, "5x5-1", "ter")
    yield from over(read("ter", "fig-j12"), "5x5-1", "ebu (no timeout)", "ebu")
    yield 0.7
    for env in ("5x5-1", CROSSING):
        yield from over(read("ter", "fig6"), env, "ter (1 root, 1 predecessor, eta=0)", "ebu (beta=0, terminal only)")
    ebu = verdict("ter", "fig2-twice")
    yield from (ebu.seeds, float(ebu.effect), *map(float, ebu.interval.strip("[]").split(", ")), 2)


def test_every_number_is_that_of_the_committed_runs():
    text = (ROOT / "papers/ter/README.md").read_text()
    found = NUMBER.findall(text.partition("## What came out\n")[2].partition("\nAll findings")[0])
    assert found == shown(list(numbers()), found)
