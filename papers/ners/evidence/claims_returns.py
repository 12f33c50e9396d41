"""Checks of claims about returns: Figs. 3, 4, C.1 and C.2, Tables 1 and 2, and our own about them."""

from collections.abc import Callable

from lab.results import MissingData, Results
from lab.verdicts import Rule, Verdict, above, all_of, below, decide, mean_of, most_of, not_worse, same
from papers.ners.evidence.claims_runs import Runs, compare, every_other, parts
from papers.ners.evidence.labels import AGENTS, INDEPENDENT, task
from papers.ners.evidence.paper_values import BASELINES, STEPS, TABLE1, TABLE2, margin
from papers.ners.evidence.plan import CHOSEN_WITH, WALKER

TABLES = {"table1": TABLE1, "table2": TABLE2}
CLOSE = 0.25
"""Difference that counts as none where our numbers are compared with the paper's, as a share of these."""
OF_RETURNS = ("fig3", "table1", "table2")


def than_others(runs: Runs, agent: str, env: str, limit: float = 0.0, whole: bool = False) -> Verdict:
    """NERS is above each baseline by more than `limit`."""
    return every_other(
        BASELINES, lambda other: compare(runs, agent, env, "ners", other, lambda _: above(limit), whole=whole)
    )


def ners_is_best(results: Results, *, experiment: str) -> Verdict:
    """NERS ends above each baseline, for every agent and task."""
    return all_of(parts(results, [experiment], than_others))


def ners_is_best_throughout(results: Results, *, experiment: str) -> Verdict:
    """Over all of training NERS is above each baseline, for most agents and tasks."""
    return most_of(parts(results, [experiment], than_others, whole=True))


def pair(
    results: Results, *, experiment: str, x: str, y: str, rule: Callable[[float], Rule], whole: bool = False
) -> Verdict:
    """Two samplers' returns differ as the rule says, for most agents and tasks."""
    return most_of(parts(results, [experiment], compare, x=x, y=y, rule=rule, whole=whole))


def per_below_random(results: Results, *, experiment: str) -> Verdict:
    """PER ends below RANDOM."""
    return pair(results, experiment=experiment, x="per", y="random", rule=lambda _: below())


def per_above_random(results: Results, *, experiment: str) -> Verdict:
    """PER ends above RANDOM."""
    return pair(results, experiment=experiment, x="per", y="random", rule=lambda _: above())


def per_no_better(results: Results, *, experiment: str) -> Verdict:
    """Over all of training RANDOM is not worse than PER."""
    return pair(results, experiment=experiment, x="random", y="per", rule=not_worse, whole=True)


def ero_like_random(results: Results, *, experiment: str, whole: bool = False) -> Verdict:
    """ERO ends where RANDOM does; whole: or is as high over all of training."""
    return pair(results, experiment=experiment, x="ero", y="random", rule=same, whole=whole)


def ners_like(results: Results, *, other: str) -> Verdict:
    """NERS ends where another sampler does, for most agents and tasks of all figures."""
    return most_of(parts(results, OF_RETURNS, compare, x="ners", y=other, rule=same))


def above_variant(results: Results, *, variant: str) -> Verdict:
    """NERS ends above NERS with something left out, where Fig. 4 (a) has it: on the walker; quick: on the pendulum."""
    [scale] = results.scales

    def wanted(agent: str, env: str) -> bool:
        return env == WALKER or scale != "full"

    return most_of(parts(results, ["fig4"], compare, wanted=wanted, x="ners", y=variant, rule=lambda _: above()))


def independent_draws_make_no_difference(results: Results) -> Verdict:
    """RANDOM with independent draws ends where RANDOM does."""
    [scale] = results.scales

    def wanted(agent: str, env: str) -> bool:
        return env == WALKER or scale != "full"

    return most_of(parts(results, ["fig4"], compare, wanted=wanted, x=INDEPENDENT, y="random", rule=same))


def star_like_ners(results: Results) -> Verdict:
    """NERS* ends where NERS does, on each task."""
    return all_of(parts(results, ["fig4"], compare, x="ners*", y="ners", rule=same))


# ---- beside the paper's numbers --------------------------------------------------------------------------------------


def at_full_length(runs: Runs, agent: str, env: str, samplers: tuple[str, ...]) -> dict[str, float]:
    """The paper's numbers for an agent and a task; MissingData when our runs are shorter than the paper's."""
    if min(runs.steps(env, f"{agent} {sampler}") for sampler in samplers) < STEPS[runs.experiment]:
        raise MissingData(f"no runs of {runs.experiment} as long as the paper's")
    return TABLES[runs.experiment][agent, env]


def half_the_margin(results: Results, *, experiment: str) -> Verdict:
    """NERS is above each baseline by more than half of what it is above the best one in the paper, in most cells."""

    def judge(runs: Runs, agent: str, env: str) -> Verdict:
        theirs = at_full_length(runs, agent, env, ("ners", *BASELINES))
        return than_others(runs, agent, env, limit=margin(theirs) / 2)

    return most_of(parts(results, [experiment], judge))


def random_as_printed(results: Results, *, experiment: str) -> Verdict:
    """RANDOM's score is the paper's, to within CLOSE of it, in most cells; without the seeds by which a rate was chosen
    for being near it."""

    def judge(runs: Runs, agent: str, env: str) -> Verdict:
        theirs, method = at_full_length(runs, agent, env, ("random",))["random"], f"{agent} random"
        runs = runs.without(CHOSEN_WITH) if (agent, env) == ("td3", "Hopper-v4") else runs
        estimate = mean_of(runs.score(method, env) - theirs)
        return decide(estimate, same(CLOSE * abs(theirs)), steps=runs.steps(env, method), scale=runs.scale)

    return most_of(parts(results, [experiment], judge))


def lower_rate_is_better(results: Results) -> Verdict:
    """TD3 ends higher with the default learning rate than with the one that the paper prints; on Hopper judged by other
    seeds than those that chose the default there."""

    def judge(runs: Runs, agent: str, env: str) -> Verdict:
        fresh = runs.without(CHOSEN_WITH) if env == "Hopper-v4" else runs
        return compare(fresh, agent, env, "lr 0.001", "lr 0.005", lambda _: above())

    return all_of(parts(results, ["own-td3-lr"], judge))


# ---- the paper against itself ----------------------------------------------------------------------------------------


def ordering(table: dict[tuple[str, str], dict[str, float]], x: str, y: str) -> str:
    """In how many cells of a table of the paper x is above y."""
    return f"{sum(row[x] > row[y] for row in table.values())} of {len(table)} cells"


def ero_apart(table: dict[tuple[str, str], dict[str, float]]) -> str:
    """How far ERO is from RANDOM in the paper's own table: the cell where it is most, as a share of the larger."""
    apart = {c: abs(row["ero"] - row["random"]) / max(abs(row["ero"]), abs(row["random"])) for c, row in table.items()}
    agent, env = max(apart, key=lambda cell: apart[cell])
    return f"up to {apart[agent, env]:.0%} apart ({AGENTS[agent]} {task(env)})"
