"""One claim, several tasks.

Every task that was run is judged by itself. A claim about most tasks is reproduced where it holds in more than half of
them, not reproduced where it is refuted in half of them or more, else partly (it holds somewhere) or inconclusive. At a
small scale it is about the few tasks that are run there; the effect says how many.
"""

from collections.abc import Callable, Iterable, Sequence

from lab.claims import Verdict, combine
from lab.results import MissingData, Results
from papers.ref_er.evidence.claims_runs import Rule, Runs, above, lesser, runs_of

Judge = Callable[[Runs, str], Verdict]
"""The runs of an experiment and a task -> a verdict; may raise MissingData."""


def majority(parts: dict[str, Verdict]) -> Verdict:
    """A claim about most tasks, from a verdict on each. A claim about one task is that one's verdict."""
    verdict, found = combine(parts), [part.status for part in parts.values()]
    good, bad, n = found.count("reproduced"), found.count("not reproduced"), len(found)
    verdict.status = "reproduced" if 2 * good > n else "not reproduced" if 2 * bad >= n else "inconclusive"
    if verdict.status == "inconclusive" and (good or "partly" in found):
        verdict.status = "partly"
    verdict.effect = f"holds in {good} of {n} tasks, fails in {bad}"
    if n == 1:
        [(name, part)] = parts.items()
        verdict.status, verdict.effect, verdict.interval = part.status, part.effect, part.interval
        verdict.note = f"{name} only" + (f"; {part.note}" if part.note else "")
    return verdict


def _judged(results: Results, experiment: str, judge: Judge, tasks: Iterable[str] | None) -> dict[str, Verdict]:
    """A verdict for each task that has what `judge` needs. MissingData when none has."""
    runs = runs_of(results, experiment)
    parts, missing = {}, []
    for env in runs.tasks if tasks is None else tasks:
        try:
            parts[env] = judge(runs, env)
        except MissingData as error:
            missing.append(str(error))
    if not parts:
        raise MissingData(missing[0] if missing else f"no runs of {experiment}")
    return parts


def most(experiment: str, judge: Judge, tasks: Iterable[str] | None = None) -> Callable[[Results], Verdict]:
    """Check that `judge` holds in most tasks that were run, or in most of `tasks`.

    A better scale counts once it has as many tasks as the lesser one; until then the check raises MissingData there.
    """

    def check(results: Results) -> Verdict:
        parts = _judged(results, experiment, judge, tasks)
        [scale] = {part.scale for part in parts.values()}
        try:
            more = _judged(lesser(results, scale), experiment, judge, tasks)
        except MissingData:
            more = {}
        if len(more) > len(parts):
            raise MissingData(f"{experiment} at {scale} has only {', '.join(parts)} yet")
        return majority(parts)

    return check


def every(experiment: str, judge: Judge, tasks: Sequence[str]) -> Callable[[Results], Verdict]:
    """Check that `judge` holds in each of these tasks, all of which must have been run."""

    def check(results: Results) -> Verdict:
        runs = runs_of(results, experiment)
        return combine({env: judge(runs, env) for env in tasks})

    return check


def compared(x: str, y: str, rule: Rule = above, *, training: bool = False) -> Judge:
    """Judge of two methods' scores, see Runs.compare."""
    return lambda runs, env: runs.compare(x, y, env, rule, training=training)


def both(**judges: Judge) -> Judge:
    """Judge that needs all of these to hold; their names are printed with blanks for underscores."""
    return lambda runs, env: combine({name.replace("_", " "): judge(runs, env) for name, judge in judges.items()})
