"""TER beside DreamerV2, from made-up results: the same ends, other ends, and a learner that is not done."""

import numpy as np
import pytest

from papers.ter.evidence.claims_dreamer import CLAIMS, converged
from papers.ter.evidence.experiments import EXPERIMENTS
from tests.papers.judged import Judged, save


def verdicts(root, ends, *, late=0.0, scale="full"):
    """Curves that rise to their method's end in the first half; DreamerV2 rises by `late` in the second."""
    rows = []
    for entry in EXPERIMENTS["fig-l14"](scale):
        end = ends(entry.method, entry.env) + 0.002 * entry.seed
        for i in range(20):
            more = late * max(0, i - 10) / 10 if entry.method == "dreamer" else 0.0
            value = 0.1 + (end - 0.1) * min(i / 10, 1) + more
            where = ("fig-l14", scale, entry.method, entry.env, entry.seed)
            rows.append((*where, 1_000 * (i + 1), "normalized_return", value, 0.1 * i))
    return Judged(CLAIMS, save(root, rows))


@pytest.mark.parametrize(("dreamer", "ter", "late", "status", "effect"), [
    (0.9, 0.9, 0.0, "reproduced", ""),
    (0.9, 0.5, 0.0, "not reproduced", ""),
    (0.5, 0.5, 0.4, "inconclusive", "DreamerV2 is still learning"),
    (0.0, 0.9, 0.0, "inconclusive", "DreamerV2 has not learned"),
])  # fmt: skip
def test_ends_are_compared_where_both_have_learned_and_are_done(dreamer, ter, late, status, effect, tmp_path):
    found = verdicts(tmp_path, lambda method, env: dreamer if method == "dreamer" else ter, late=late)
    assert [verdict.status for verdict in found.values()] == [status] * 2
    assert found["fig-l14"].seeds == 5 and len(found["fig-l14"].parts) == 4
    assert all(len(name) > 5 for name in found["fig-l14-released"].parts)  # no Sokoban
    assert not effect or {part.effect for part in found["fig-l14"].parts.values()} == {effect}


@pytest.mark.parametrize(("slope", "expected"), [(0.0, True), (0.05, False), (-0.05, True)])
def test_converged_is_no_clear_rise_at_the_end(slope, expected):
    noise = np.random.default_rng(0).normal(0, 0.02, (6, 40))
    assert converged(0.5 + slope * np.arange(40) / 8 + noise) is expected
    assert not converged(np.full((1, 40), 0.5))
