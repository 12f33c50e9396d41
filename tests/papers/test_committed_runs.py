"""The committed results of all papers and of the arena: every run had the config that its experiment has today."""

import json
from typing import Any

import pytest

from arena.__main__ import HOUSE as ARENA
from lab.judge import results
from lab.rooms import House
from lab.run.identity import difference

PAPERS = House().papers() | ARENA.papers()
FILES = [
    pytest.param(name, path, id=f"{name}-{path.parent.name}-{path.name.removesuffix('.provenance.json')}")
    for name, paper in PAPERS.items()
    for path in sorted((paper.evidence / "results").glob("*/*.provenance.json"))
]


@pytest.mark.parametrize(("paper", "path"), FILES)
def test_committed_runs_have_the_config_of_today(paper, path):
    experiment, scale = path.name.removesuffix(".provenance.json"), path.parent.name
    made = PAPERS[paper].experiments[experiment](scale)
    entries = {f"{entry.method}|{entry.env}|{entry.seed}": entry for entry in made}
    stored: dict[str, Any] = json.loads(path.read_text())
    other = {}
    for run, content in stored.items():
        if run not in entries:
            other[run] = "no longer an entry"
        elif found := difference(content["config"], entries[run].config):
            other[run] = found
    assert not other
    frame = results.read(path.parents[1], experiment, scale)
    assert frame is not None
    assert set(stored) == {"|".join(map(str, run)) for run, _ in frame.groupby(["method", "env", "seed"])}
