"""README.md: every number of what came out is that of the committed runs."""

from collections.abc import Iterator

from lab.judge.results import Results
from lab.judge.scores import Runs
from lab.rooms import ROOT
from papers.bias_reduced_her.evidence.claims_bitflip import LAST, TIMEOUT
from papers.bias_reduced_her.evidence.claims_runs import NEAR_ZERO, ROOM
from papers.bias_reduced_her.evidence.labels import READINGS
from papers.bias_reduced_her.train import Config
from tests.test_findings import NUMBER, read, shown

COLUMNS = ("her", "her-ibs", "filtered-her", "filtered-her-ibs", "her-thinned", "none")


def both(runs: Runs, method: str, env: str) -> Iterator[float]:
    """Mean success over training, and in its last fifth."""
    values = runs.curve("success", method, env)[1]
    yield from (values.mean(), values[:, -(values.shape[1] // 5) :].mean())


def numbers() -> Iterator[float]:
    tasks = {task: read("bias_reduced_her", f"training-{task.lower()}+controls-{task.lower()}", "full")
             for task in ("Hand", "HandWall", "Robot")}  # fmt: skip
    yield len(tasks["Hand"].seeds("her", "Hand"))
    for task, runs in tasks.items():
        for method in COLUMNS:
            yield from both(runs, method, task)
    yield from (1, 100 * NEAR_ZERO, 2)
    hand = tasks["Hand"]
    filtered, thinned = (hand.area("success", one, "Hand").mean() for one in ("filtered-her", "her-thinned"))
    yield filtered - thinned
    yield from (3, 4, 5)
    for method in ("her", "filtered-her", "her-thinned"):
        for task in ("Hand", "Robot"):
            runs = read("bias_reduced_her", f"bootstrapped-{task.lower()}", "full")
            yield from both(runs, f"{method} (bootstrapped)", task)
    yield from (6, 7)
    hand = ROOM.runs(Results(ROOT / "papers/bias_reduced_her/evidence/results", ("full",)), "training-hand")
    yield from (hand.last("bias", method, "Hand", LAST).mean() for method in ("her", "filtered-her"))
    flips = read("bias_reduced_her", "bitflip", "full")
    yield from (8, flips.last("quit_bias", "her", TIMEOUT, LAST).mean())
    yield max(flips.curve("quit_bias_near", "her", env)[1].mean(axis=0).max() for env in READINGS)
    yield from (9, 15, 2, Config("Hand").sigma, 0.2)


def test_every_number_is_that_of_the_committed_runs():
    text = (ROOT / "papers/bias_reduced_her/README.md").read_text()
    found = NUMBER.findall(text.partition("## What came out\n")[2].partition("\nVerdicts with")[0])
    assert found == shown(list(numbers()), found)
