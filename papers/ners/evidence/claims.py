"""All claims of the paper that runs can check, figure by figure, and our own.

They and their limits were written down while the first runs, of TD3 with RANDOM for its learning rate, were under way,
and without use of them. claims_runs.py says what a score is, what "close"
means and how agents and tasks are put together; claims_law.py is about what is drawn.

Orderings are judged at the scale there is. Numbers are compared only with runs as long as the paper's. Where the
paper's text and its own tables disagree, the column of the paper's values says so.
"""

from lab.claims import Claim, Verdict, combine
from lab.results import MissingData
from papers.ners.evidence.claims_law import MOSTLY, UNIFORM, bonus, drawn, more_often, mostly, near_uniform, statistic
from papers.ners.evidence.claims_runs import (
    CLOSE,
    Judge,
    Rule,
    Runs,
    above,
    below,
    both,
    close,
    each,
    most,
    no_worse,
    opposite,
)
from papers.ners.evidence.labels import AGENTS, task
from papers.ners.evidence.paper_values import BASELINES, STEPS, TABLE1, TABLE2, margin

TABLES = {"table1": TABLE1, "table2": TABLE2}


def against(x: str, y: str, rule: Rule = above, *, training: bool = False) -> Judge:
    """Two samplers' returns differ as the rule says."""
    return lambda runs, agent, env: runs.compare(f"{agent} {x}", f"{agent} {y}", env, rule, training=training)


def runner_up(runs: Runs, agent: str, env: str, *, training: bool = False) -> str:
    """The baseline with the highest mean score; all three must have been run."""
    means = {s: runs.score(f"{agent} {s}", env, training=training).mean() for s in BASELINES}
    return max(means, key=lambda sampler: means[sampler])


def best(*, training: bool = False) -> Judge:
    """NERS is above the best of the three others."""
    return lambda runs, agent, env: against("ners", runner_up(runs, agent, env, training=training), training=training)(
        runs, agent, env
    )


def at_full_length(runs: Runs, experiment: str, agent: str, env: str, samplers: tuple[str, ...]) -> dict[str, float]:
    """The paper's numbers for an agent and a task; MissingData when our runs are shorter than the paper's."""
    if (agent, env) not in TABLES[experiment]:
        raise MissingData(f"the paper has no number for {agent} on {env}")
    if min(runs.steps(f"{agent} {sampler}", env) for sampler in samplers) < STEPS[experiment]:
        raise MissingData(f"no runs of {experiment} as long as the paper's")
    return TABLES[experiment][agent, env]


def half_the_margin(experiment: str) -> Judge:
    """NERS is above the best baseline by more than half of what it is in the paper."""

    def judge(runs: Runs, agent: str, env: str) -> Verdict:
        theirs = at_full_length(runs, experiment, agent, env, ("ners", *BASELINES))
        other = f"{agent} {runner_up(runs, agent, env)}"
        return runs.compare(f"{agent} ners", other, env, beyond=margin(theirs) / 2)

    return judge


def matches(experiment: str) -> Judge:
    """RANDOM's score is the paper's, to within CLOSE of it."""

    def judge(runs: Runs, agent: str, env: str) -> Verdict:
        theirs = at_full_length(runs, experiment, agent, env, ("random",))["random"]
        method = f"{agent} random"
        return runs.level(runs.score(method, env), theirs, close, runs.steps(method, env))

    return judge


def lower_rates(runs: Runs, agent: str, env: str) -> Verdict:
    """TD3 ends higher with each of two lower learning rates than with the one that the paper prints."""
    rates = ("0.001", "0.0003")
    return combine({f"lr {rate}": runs.compare(f"td3 lr {rate}", "td3 lr 0.005", env) for rate in rates})


def ordering(table: dict[tuple[str, str], dict[str, float]], x: str, y: str) -> str:
    """In how many cells of a table of the paper x is above y."""
    return f"{sum(row[x] > row[y] for row in table.values())} of {len(table)} cells"


def ero_apart(table: dict[tuple[str, str], dict[str, float]]) -> str:
    """How far ERO is from RANDOM in the paper's own table: the cell where it is most, as a share of the larger."""
    apart = {c: abs(row["ero"] - row["random"]) / max(abs(row["ero"]), abs(row["random"])) for c, row in table.items()}
    agent, env = max(apart, key=lambda cell: apart[cell])
    return f"up to {apart[agent, env]:.0%} apart ({AGENTS[agent]} {task(env)})"


LATE_BOTH = both(log_TD=drawn("log_td", "ners", "random"), Q=drawn("q_mean", "ners", "random"))
OTHERS = {x: both(log_TD=drawn("log_td", x, "random"), Q=drawn("q_mean", x, "random")) for x in ("per", "ero")}
SD_TD, SD_Q, MEAN_TD, MEAN_Q = range(4)
"""Places in Table 3."""
REST = ("ners", "random", "ero")
CURVES = "curves, no numbers"
MARGIN = f"(margin {CLOSE:.0%} of what was learned)"
OF_TASKS = "for most agents and tasks"

CLAIMS = [
    # Fig. 1
    Claim(
        "fig1-td", "fig1", "Draws by TD error mostly show the pendulum hanging down (in the lower quarter of the "
        f"circle): more than {MOSTLY:.0%}", "mostly", most("fig1", judge=mostly("td", "downward")),
    ),
    Claim(
        "fig1-q", "fig1", f"Draws by Q mostly show it upright (in the upper quarter): more than {MOSTLY:.0%}",
        "upright", most("fig1", judge=mostly("q", "upright")),
    ),
    Claim(
        "fig1-uniform", "fig1", "Uniform draws are mixed: horizontal rods are more frequent in them than in draws by "
        "TD error and in draws by Q", "diverse", most("fig1", judge=more_often("uniform", ("td", "q"), "horizontal")),
    ),
    # Fig. 3
    Claim(
        "fig3-ners", "fig3", "NERS ends above the best of RANDOM, PER and ERO, with each agent on each task",
        "in all cases", each("fig3", judge=best()),
    ),
    Claim(
        "fig3-per", "fig3", f"PER ends below RANDOM {OF_TASKS}", "often worse",
        most("fig3", judge=against("per", "random", below)),
    ),
    Claim(
        "fig3-ero", "fig3", f"ERO ends close to RANDOM {OF_TASKS} {MARGIN}", "close",
        most("fig3", judge=against("ero", "random", close)),
    ),
    # Table 1
    Claim(
        "table1-ners", "table1", "NERS ends above the best baseline in each cell",
        f"all cases; {sum(margin(row) > 0 for row in TABLE1.values())} of {len(TABLE1)} cells",
        each("table1", judge=best()),
    ),
    Claim(
        "table1-margin", "table1", f"By more than half of the paper's margin, {OF_TASKS} (full length only)",
        " ".join(f"+{margin(row):.0f}" for row in TABLE1.values()), most("table1", judge=half_the_margin("table1")),
    ),
    Claim(
        "table1-per", "table1", f"PER ends below RANDOM {OF_TASKS}", f"often; {ordering(TABLE1, 'random', 'per')}",
        most("table1", judge=against("per", "random", below)),
    ),
    Claim(
        "table1-ero", "table1", f"ERO ends close to RANDOM {OF_TASKS} {MARGIN}",
        f"text: close; its table: {ero_apart(TABLE1)}", most("table1", judge=against("ero", "random", close)),
    ),
    Claim(
        "own-random-baseline", "table1", f"Our RANDOM is the paper's (within {CLOSE:.0%}) {OF_TASKS} (full length "
        "only)", " ".join(f"{row['random']:.0f}" for row in TABLE1.values()), most("table1", judge=matches("table1")),
    ),
    # Table 2
    Claim(
        "table2-ners", "table2", "Rainbow: NERS ends above the best baseline in each game",
        f"all cases; {sum(margin(row) > 0 for row in TABLE2.values())} of {len(TABLE2)} games",
        each("table2", judge=best()),
    ),
    Claim(
        "table2-margin", "table2", "By more than half of the paper's margin, in most games (full length only)",
        "brackets of Table 2", most("table2", judge=half_the_margin("table2")),
    ),
    Claim(
        "table2-per", "table2", "Rainbow: PER ends above RANDOM in most games",
        f"effective; {ordering(TABLE2, 'per', 'random')}", most("table2", judge=against("per", "random")),
    ),
    Claim(
        "table2-ero", "table2", f"Rainbow: ERO ends close to RANDOM in most games {MARGIN}",
        f"text: close; its table: {ero_apart(TABLE2)}", most("table2", judge=against("ero", "random", close)),
    ),
    Claim(
        "own-random-baseline-atari", "table2", f"Our RANDOM is the paper's (within {CLOSE:.0%}) in most games (full "
        "length only)", "column RANDOM", most("table2", judge=matches("table2")),
    ),
    # Table 3
    Claim(
        "table3-per-td", "table3", "The squared TD errors that PER replays spread more than each other sampler's",
        "1257 against 529 to 723", each("table3", judge=both(**{s: statistic(SD_TD, "per", s, above) for s in REST})),
    ),
    Claim(
        "table3-per-q", "table3", "And its Q spread less than each other's", "50 against 59 to 65",
        each("table3", judge=both(**{s: statistic(SD_Q, "per", s, below) for s in REST})),
    ),
    Claim(
        "table3-ners", "table3", "NERS replays a larger spread of both than RANDOM and ERO",
        "723 and 65 against 529 and 60, 561 and 59",
        each(
            "table3",
            judge=both(
                TD_RANDOM=statistic(SD_TD, "ners", "random", above), TD_ERO=statistic(SD_TD, "ners", "ero", above),
                Q_RANDOM=statistic(SD_Q, "ners", "random", above), Q_ERO=statistic(SD_Q, "ners", "ero", above),
            ),
        ),
    ),
    Claim(
        "table3-mean-q", "table3", "NERS replays the highest mean Q", "-104 against -119 to -138",
        each("table3", judge=both(**{s: statistic(MEAN_Q, "ners", s, above) for s in BASELINES})),
    ),
    Claim(
        "table3-ero", "table3", f"ERO is close to RANDOM in all four statistics (within {CLOSE:.0%})",
        "within 6 % each", each(
            "table3",
            judge=both(
                sd_TD=statistic(SD_TD, "ero", "random", close), sd_Q=statistic(SD_Q, "ero", "random", close),
                mean_TD=statistic(MEAN_TD, "ero", "random", close), mean_Q=statistic(MEAN_Q, "ero", "random", close),
            ),
        ),
    ),
    # Fig. 4
    Claim(
        "fig4-few", "fig4", "(a) NERS ends above NERS with only reward, TD error and time, SAC", CURVES,
        most("fig4", judge=against("ners", "ners few")),
    ),
    Claim(
        "fig4-global", "fig4", "(a) And above NERS without global context", CURVES,
        most("fig4", judge=against("ners", "ners no-global")),
    ),
    Claim(
        "fig4-star", "fig4", f"(b, c) NERS* ends close to NERS, on each task {MARGIN}", "no significant difference",
        each("fig4", judge=against("ners*", "ners", close)),
    ),
    # Fig. 5
    Claim(
        "fig5-early", "fig5", "Early, NERS replays higher TD errors than RANDOM (mean log), SAC, on most tasks", CURVES,
        most("fig3", "table1", judge=drawn("log_td", "ners", "random", early=True)),
    ),
    Claim(
        "fig5-late", "fig5", "Late, both higher TD errors and higher Q than RANDOM, on most tasks (a better policy has "
        "higher Q by itself)", CURVES, most("fig3", "table1", judge=LATE_BOTH),
    ),
    Claim(
        "fig5-others", "fig5", "PER and ERO do not: late, neither has both above RANDOM, on most tasks",
        "unique to NERS", most("fig3", "table1", judge=both(PER=opposite(OTHERS["per"]), ERO=opposite(OTHERS["ero"]))),
    ),
    # Figs. C.1 and C.2: over all of training
    Claim(
        "fig-c1-ners", "fig-c1", f"Over all of training NERS is above the best baseline {OF_TASKS}",
        "in most cases; text of Sec. 3.2: all", most("table1", judge=best(training=True)),
    ),
    Claim(
        "fig-c1-ero", "fig-c1", f"And ERO close to RANDOM {OF_TASKS} {MARGIN}", "almost similar",
        most("table1", judge=against("ero", "random", close, training=True)),
    ),
    Claim(
        "fig-c1-per", "fig-c1", f"And PER no better than RANDOM {OF_TASKS} {MARGIN}", "no better",
        most("table1", judge=against("random", "per", no_worse, training=True)),
    ),
    Claim(
        "fig-c2-ners", "fig-c2", "Rainbow: over all of training NERS is above the best baseline in most games", CURVES,
        most("table2", judge=best(training=True)),
    ),
    # our own
    Claim(
        "own-law-ners", "own-law", "Our prediction, as the scores of replayed transitions come out almost equal: "
        f"NERS's sampling law ends within {UNIFORM:.0%} total variation of uniform, {OF_TASKS}", "-",
        most("fig3", "table1", "table2", judge=near_uniform),
    ),
    Claim(
        "own-law-new", "own-law", "Our prediction: what remains is mostly the bonus for transitions that were never "
        f"replayed; it accounts for more than {MOSTLY:.0%} of that distance, {OF_TASKS}", "-",
        most("fig3", "table1", "table2", judge=bonus),
    ),
    Claim(
        "own-law-per", "own-law", f"Our prediction: PER's law ends further from uniform than NERS's, {OF_TASKS}", "-",
        most("fig3", "table1", "table2", judge=drawn("tv", "per", "ners", agents=tuple(AGENTS))),
    ),
    Claim(
        "own-td3-lr", "own-td3-lr", "Our prediction: TD3 with RANDOM ends higher with learning rates of 1e-3 and 3e-4 "
        "than with the 5e-3 that the paper prints", "5e-3", most("own-td3-lr", judge=lower_rates),
    ),
]  # fmt: skip
"""Every claim with its check."""
