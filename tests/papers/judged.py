"""Verdicts that are judged when they are asked for: a test of one claim need not wait for thirty."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd

from lab.judge.claims import Claim, evaluate
from lab.judge.results import COLUMNS, Results
from lab.judge.verdicts import Verdict
from lab.rooms import Paper
from lab.sweep.prices import Prices


class Judged(Mapping[str, Verdict]):
    """Id -> verdict, of the claims `only` among `claims` (None: of all)."""

    def __init__(self, claims: Sequence[Claim], results: Results, only: Sequence[str] | None = None):
        self.claims, self.results = {claim.id: claim for claim in claims}, results
        self.ids = [name for name in self.claims if only is None or name in only]
        self._found: dict[str, Verdict] = {}

    def __getitem__(self, name: str) -> Verdict:
        if name not in self._found:
            wanted = [self.claims[name]]
            if wanted[0].counted_with:
                wanted.append(self.claims[wanted[0].counted_with])
            self._found |= {claim.id: verdict for claim, verdict in evaluate(wanted, self.results)}
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.ids)

    def __len__(self) -> int:
        return len(self.ids)


def save(root: Path, rows: list[tuple]) -> Results:
    """What can be asked of made-up results, rows of COLUMNS that are all of one experiment at one scale."""
    experiment, scale, *_ = rows[0]
    path = root / scale / f"{experiment}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(rows, columns=COLUMNS).to_csv(path, index=False)
    return Results(root)


def read_elsewhere(paper: Paper, found: Mapping[str, Verdict]) -> list[str]:
    """The claims of the paper whose verdicts were found in other experiments than those they say that they read."""
    prices, claims = Prices(paper), {claim.id: claim for claim in paper.claims}
    return [
        name
        for name, verdict in found.items()
        if not {source.partition("/")[2] for source in verdict.sources} <= set(prices.experiments(claims[name]))
    ]


def statuses(found: Mapping[str, Verdict]) -> dict[str, str]:
    return {name: verdict.status for name, verdict in found.items()}
