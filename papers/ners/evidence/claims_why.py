"""Checks of claims about NERS's networks alone, without an agent: the runs of shrinkage.py."""

from lab.results import Results
from lab.verdicts import MIN_SEEDS, Verdict, all_of, below, decide, judged, mean_of, number
from papers.ners.evidence.claims_law import UNIFORM
from papers.ners.evidence.claims_runs import Runs, parts

SHRUNK = 0.01
"""Share of the inputs' spread below which hardly anything of it is left."""
TIMES = ("share", "episode", "environment")
"""Readings of Eq. (2)'s time step."""
BOUNDED = ("share", "episode")
"""Those by which it stays below the length of an episode; Algorithm 1's own grows without bound."""


def untrained_networks_shrink(results: Results) -> Verdict:
    """Untrained, the networks leave less than SHRUNK of the inputs' spread, by each reading of the time step."""

    def judge(runs: Runs, agent: str, env: str) -> Verdict:
        def of(time: str) -> Verdict:
            method = f"{agent} {time} signs"
            last = max(name for name in runs.rows(method, env)["metric"] if name.startswith("layer_"))
            estimate = mean_of(runs.first(last, method, env))
            return decide(estimate, below(SHRUNK), steps=0, scale=runs.scale, show=number)

        return all_of(judged(TIMES, of))

    return all_of(parts(results, ["own-why"], judge))


def steps_keep_it_so(results: Results) -> Verdict:
    """After as many steps as in a run of the paper's, with replay rewards of random signs, the law is near uniform, if
    the time step is bounded."""

    def judge(runs: Runs, agent: str, env: str) -> Verdict:
        def of(time: str) -> Verdict:
            method = f"{agent} {time} signs"
            estimate = mean_of(runs.last("tv_replayed", method, env))
            return decide(estimate, below(UNIFORM), steps=runs.steps(env, method), scale=runs.scale, show=number)

        return all_of(judged(BOUNDED, of))

    return all_of(parts(results, ["own-why"], judge))


def some_leave_it(results: Results) -> Verdict:
    """By Algorithm 1's reading, the step of the environment, some seed's law ends away from uniform. Seed by seed: what
    differs that much between runs has no mean to speak of."""

    def judge(runs: Runs, agent: str, env: str) -> Verdict:
        method = f"{agent} environment signs"
        found = runs.last("tv_replayed", method, env)
        away, few = int((found > UNIFORM).sum()), len(found) < MIN_SEEDS
        return Verdict(
            "inconclusive" if few else "reproduced" if away else "not reproduced",
            f"{away} of {len(found)} seeds, up to {found.max():.2f}",
            seeds=len(found), steps=runs.steps(env, method), scale=runs.scale,
            note=f"fewer than {MIN_SEEDS} seeds" if few else "",
        )  # fmt: skip

    return all_of(parts(results, ["own-why"], judge))
