"""The paper's statements about Figs. 3 to 6, Table B.1 and Figs. E.7 to M.15, as checks of tidy results.

How runs are compared is said in `comparisons.py`, what the verdicts mean in `lab/verdicts.py`. The factor and the pairs
of tasks below were fixed before the comparisons were run.

On MiniGrid the paper's text and the scripts released with it are two different methods: each claim there about TER has
a verdict as printed (3 predecessors) and one as released (1).
"""

import functools
from collections.abc import Callable, Iterator

import numpy as np

from lab.claims import Claim, full_only
from lab.results import Results
from lab.verdicts import (
    Rule,
    Verdict,
    above,
    all_of,
    below,
    decide,
    judged,
    mean_of,
    most_of,
    not_worse,
    number,
    same,
)
from papers.ter.evidence import claims_dreamer, claims_nchain
from papers.ter.evidence.budgets import GAMES, LARGEST_RETURN, QUICK, SOKOBAN, TASKS
from papers.ter.evidence.comparisons import LAST, Runs, contest, faster, lead, over_estimation, overall, tasks
from papers.ter.evidence.experiments import RELEASED
from papers.ter.evidence.labels import label
from papers.ter.settings import METHODS

BASELINES = METHODS[:-1]
FACTOR = 2.0
"""Largest ratio of batch times that counts as similar; the paper's own means differ by up to 1.5."""
RATIO = float(np.log(FACTOR))


def times(metric: str, rule: Rule, x: str, y: str) -> Callable[[Results], Verdict]:
    """Check of Table B.1: ``rule`` on logarithms of batch times, x against y; printed as the ratio x / y."""

    def check(results: Results) -> Verdict:
        runs = Runs.of(results, "table-b1")
        [env] = tasks("table-b1", runs.scale)
        first, second = (np.log(runs.by_seed(metric, (method, env), runs.last)) for method in (x, y))
        return decide(
            mean_of((first - second).dropna()), rule, steps=runs.steps(env, x, y), scale=runs.scale,
            note=f"{label(x)} / {label(y)}", show=lambda value: number(float(np.exp(value))),
        )  # fmt: skip

    return check


def growing_lead(results: Results) -> Verdict:
    """Fig. 3b: in both rows of the figure, the hardest task against the easiest."""
    runs = Runs.of(results, "fig3b")
    parts = {f"{hard} against {easy}": (easy, hard) for easy, hard in (("5x5-1", "6x6-3"), ("5x5-2", "7x7-2"))}
    return all_of(judged(parts, lambda part: lead(runs, *parts[part], BASELINES)))


def predicted_errors(results: Results) -> Verdict:
    """DisCor's mean predicted error at the end, on which its temperature is set, over the largest return, less 1."""
    runs = Runs.of(results, "fig3b")

    def judge(env: str) -> Verdict:
        errors = runs.last("tau", "discor", env, LAST) / LARGEST_RETURN[env]
        return decide(mean_of(errors - 1), above(), steps=runs.steps(env, "discor"), scale=runs.scale)

    return all_of(judged(tasks("fig3b", runs.scale), judge))


def sweeps(metric: str, more: str, fewer: str) -> Callable[[Results], Verdict]:
    """Check of own-predecessors: whether ``metric``, at the last copy, is higher for the arm ``more`` on every task."""

    def check(results: Results) -> Verdict:
        runs = Runs.of(results, "own-predecessors")

        def judge(env: str) -> Verdict:
            x, y = (runs.by_seed(metric, (method, env), runs.last) for method in (more, fewer))
            return decide(mean_of((x - y).dropna()), above(), steps=runs.steps(env, more), scale=runs.scale)

        return all_of(judged(tasks("own-predecessors", runs.scale), judge))

    return check


# ---- the claims ------------------------------------------------------------------------------------------------------

HIGHER = [(family, f"{family} x{ratio}") for family in BASELINES for ratio in (1, 2)]
ALL = "UER, PER, EBU and DisCor"
CURVES = "curves, no numbers"
ARMS = {"ter": ("", "as printed: 3 predecessors"), f"ter{RELEASED}": ("-released", "as released: 1 predecessor")}
"""Arm of TER on MiniGrid -> what its claims are called, and what their text says."""


def against(ter: str, others: tuple[str, ...] = BASELINES) -> list[tuple[str, str]]:
    return [(ter, other) for other in others]


def on_task(task: str, ter: str) -> Callable[[Results], Verdict]:
    """Fig. 3a: an arm of TER against all baselines on one task."""
    return contest("fig3a", not_worse, against(ter), env=task.__eq__)


def both(
    name: str, figure: str, text: str, check: Callable[[str], Callable[[Results], Verdict]], kind: str = "paper"
) -> Iterator[Claim]:
    """A claim about TER on MiniGrid, for each of its arms."""
    for ter, (suffix, said) in ARMS.items():
        yield Claim(f"{name}{suffix}", figure, f"{text} ({said})", "-" if kind == "own" else CURVES, check(ter), kind)


LEFT_OUT = {task for task in (*TASKS, *SOKOBAN) if task not in QUICK}
FULL_ONLY = (
    *(f"fig3a-{task.lower()}{suffix}" for task in TASKS if task in LEFT_OUT for suffix, _ in ARMS.values()),
    *(f"fig3b-{task}" for task in SOKOBAN if task in LEFT_OUT),
    "fig3a-overall", "fig3a-overall-released", "fig3b-overall", "fig3b-lead", "fig4a-gap", "fig4a-gap-released",
    "fig4a-ratio", "fig4a-lava", "fig4b", "fig5", "fig5-released", "fig-i11-gap-released", "fig-j12-gap-released",
    "fig-m15-pong", "fig-m15-kangaroo", "fig-m15-venture", "own-network-released",
)  # fmt: skip
"""About tasks, or TER's arm on MiniGrid in figures, that quick leaves out."""
CLAIMS = full_only([
    *claims_nchain.CLAIMS,
    *claims_dreamer.CLAIMS,
    *(
        claim
        for task in TASKS
        for claim in both(
            f"fig3a-{task.lower()}", "fig3a", f"{task}: TER learns at least as fast as {ALL}",
            functools.partial(on_task, task),
        )
    ),
    *both(
        "fig3a-overall", "fig3a", f"MiniGrid on average: TER learns faster than {ALL}",
        lambda ter: overall("fig3a", BASELINES, ter),
    ),
    *(
        Claim(
            f"fig3b-{task}", "fig3b", f"Sokoban {task}: TER learns faster than {ALL}", CURVES,
            contest("fig3b", faster, against("ter"), env=task.__eq__),
        )
        for task in SOKOBAN
    ),
    Claim(
        "fig3b-overall", "fig3b", f"Sokoban on average: TER learns faster than {ALL}", CURVES,
        overall("fig3b", BASELINES),
    ),
    Claim(
        "fig3b-lead", "fig3b", "Sokoban: TER's lead over the baselines' mean grows with the room and the boxes", CURVES,
        growing_lead,
    ),
    Claim(
        "fig3b-order", "fig3b", "Sokoban: EBU and DisCor learn slower than UER", CURVES,
        contest("fig3b", faster, [("uer", "ebu"), ("uer", "discor")]),
    ),
    Claim(
        "fig3b-errors", "fig3b", "Sokoban: DisCor's mean predicted error explodes: it ends above the largest return "
        "R_max (printed: share of R_max, less 1)", "no numbers", predicted_errors,
    ),
    *both(
        "fig4a-gap", "fig4", "MiniGrid: baselines at replay ratios 1 and 2 learn slower than TER at 0.25",
        lambda ter: contest(
            "fig4", faster, [(f"{ter} x0.25", method) for _, method in HIGHER], env=TASKS.__contains__
        ),
    ),
    Claim(
        "fig4a-gap-sokoban", "fig4", "Sokoban: baselines at replay ratios 1 and 2 learn slower than TER at 0.25",
        CURVES, contest("fig4", faster, [("ter x0.25", method) for _, method in HIGHER], env=SOKOBAN.__contains__),
    ),
    Claim(
        "fig4a-ratio", "fig4", "MiniGrid: most baselines do not gain from a higher replay ratio (LavaCrossing-Hard "
        "aside)", CURVES,
        contest(
            "fig4", not_worse, [(f"{family} x0.25", method) for family, method in HIGHER],
            env=[task for task in TASKS if task != "LavaCrossing-Hard"].__contains__, join=most_of,
        ),
    ),
    Claim(
        "fig4a-ratio-sokoban", "fig4", "Sokoban: most baselines do not gain from a higher replay ratio", CURVES,
        contest(
            "fig4", not_worse, [(f"{family} x0.25", method) for family, method in HIGHER],
            env=SOKOBAN.__contains__, join=most_of,
        ),
    ),
    Claim(
        "fig4a-lava", "fig4", "On LavaCrossing-Hard higher replay ratios help every baseline", CURVES,
        contest(
            "fig4", faster, [(method, f"{family} x0.25") for family, method in HIGHER], env="LavaCrossing-Hard".__eq__
        ),
    ),
    Claim(
        "fig4b", "fig4", "MiniGrid: at replay ratios 1 and 2 the baselines' mean Q ends above the largest return R_max",
        "far above 0", over_estimation("fig4", above(), (method for _, method in HIGHER), TASKS),
    ),
    Claim(
        "fig4b-sokoban", "fig4", "Sokoban: at replay ratios 1 and 2 the baselines' mean Q ends above R_max",
        "far above 0", over_estimation("fig4", above(), (method for _, method in HIGHER), SOKOBAN),
    ),
    *both(
        "fig5", "fig5", "TER's mixing ratio η hardly matters on MiniGrid: all are like η=0.5",
        lambda ter: contest(
            "fig5", same,
            [(f"eta={eta:g}{ter[3:]}", f"eta=0.5{ter[3:]}") for eta in (0.0, 0.05, 0.1, 0.2, 0.7)],
            env=TASKS.__contains__,
        ),
    ),
    Claim(
        "fig5-high", "fig5", "Sokoban: with high shares, η=0.5 and 0.7, TER learns slower than with 0.1 and 0.2",
        CURVES,
        contest(
            "fig5", faster, [(f"eta={low:g}", f"eta={high:g}") for low in (0.1, 0.2) for high in (0.5, 0.7)],
            env=SOKOBAN.__contains__,
        ),
    ),
    Claim(
        "fig5-low", "fig5", "Sokoban: with low shares, η=0 and 0.05, TER learns slower than with 0.1 and 0.2", CURVES,
        contest(
            "fig5", faster, [(f"eta={best:g}", f"eta={low:g}") for best in (0.1, 0.2) for low in (0.0, 0.05)],
            env=SOKOBAN.__contains__,
        ),
    ),
    Claim(
        "fig6", "fig6", "Stitching alone: TER (1 root, 1 predecessor, η=0) learns faster than EBU (β=0, terminal "
        "episodes only)", CURVES,
        contest("fig6", faster, [("ter (1 root, 1 predecessor, eta=0)", "ebu (beta=0, terminal only)")]),
    ),
    Claim(
        "table-b1-mean", "table-b1", f"TER's mean time to choose a batch is like UER's (within a factor of {FACTOR:g})",
        "TER / UER 1.0 (0.002 s each)", times("choose_seconds_mean", same(RATIO), "ter", "uer"),
    ),
    Claim(
        "table-b1-max", "table-b1", f"TER's longest time to choose a batch is not above PER's (margin: a factor of "
        f"{FACTOR:g})", "PER / TER 1.09 (0.28 s, 0.256 s)", times("choose_seconds_max", not_worse(RATIO), "per", "ter"),
    ),
    Claim(
        "table-b1-median", "table-b1", "TER's median time to choose a batch is above UER's",
        "TER / UER 6.7 (2e-4 s, 3e-5 s)", times("choose_seconds_median", above(), "ter", "uer"),
    ),
    Claim(
        "own-table-b1", "table-b1", "With drawing its pictures, which no method is spared, a batch of TER takes about "
        f"as long as one of UER (mean, within a factor of {FACTOR:g})", "-",
        times("batch_seconds_mean", same(RATIO), "ter", "uer"), kind="own",
    ),
    Claim(
        "fig-e7-ebu", "fig-e7", "Sokoban: EBU's mean Q ends above the largest return R_max", "above 0",
        over_estimation("fig3b", above(), ["ebu"], SOKOBAN),
    ),
    Claim(
        "fig-e7-others", "fig-e7", "Sokoban: the mean Q of UER, PER and DisCor ends below R_max", "below 0",
        over_estimation("fig3b", below(), ["uer", "per", "discor"], SOKOBAN),
    ),
    Claim(
        "fig-f8", "fig-f8", "EBU's diffusion factor β hardly matters: all are like β=0.5", CURVES,
        contest("fig-f8", same, [(f"beta={beta:g}", "beta=0.5") for beta in (0.0, 0.25, 0.75, 1.0)]),
    ),
    Claim(
        "own-ebu-released", "fig-f8", "EBU with double DQN, as the paper has it, learns faster than with the largest "
        "value of the target network, as in the released code (β=0.5)", "-",
        contest("fig-f8", faster, [("beta=0.5", "ebu (released)")]), kind="own",
    ),
    *both(
        "fig-g9", "fig-g9", f"With 10 % random actions TER still learns faster than {ALL}",
        lambda ter: contest("fig-g9", faster, against(ter)),
    ),
    *both(
        "fig-h10-ter", "fig-h10", f"Where the goal is not terminal, TER learns faster than {ALL}",
        lambda ter: contest("fig-h10", faster, against(ter), env=lambda name: name.endswith("(no terminal)")),
    ),
    Claim(
        "fig-h10-drop", "fig-h10", "Every baseline's return is lower where the goal is not terminal", CURVES,
        contest(
            "fig-h10", faster, [(baseline, baseline) for baseline in BASELINES], other=" (no terminal)",
            env=lambda name: not name.endswith("(no terminal)"),
        ),
    ),
    Claim(
        "fig-i11-gain", "fig-i11", "Mixing PER into EBU does not help it", CURVES,
        contest("fig-i11", not_worse, [("ebu", "ebu + per")]),
    ),
    *both(
        "fig-i11-gap", "fig-i11", "TER learns faster than EBU with PER mixed in",
        lambda ter: contest("fig-i11", faster, [(ter, "ebu + per")]),
    ),
    Claim(
        "fig-j12-gain", "fig-j12", "Leaving out time-outs does not help EBU", CURVES,
        contest("fig-j12", not_worse, [("ebu", "ebu (no timeout)")]),
    ),
    *both(
        "fig-j12-gap", "fig-j12", "TER learns faster than EBU without time-outs",
        lambda ter: contest("fig-j12", faster, [(ter, "ebu (no timeout)")]),
    ),
    Claim(
        "fig-k13", "fig-k13", "The projection's length d, even 1, does not matter: as long as it tells all frames "
        "apart, runs are equal to the last bit", CURVES,
        contest("fig-k13", same, [("d=1", "d=3"), ("d=10", "d=3")]), kind="wiring",
    ),
    *(
        Claim(
            f"fig-m15-{game.lower()}", "fig-m15", f"{game}: TER learns about as fast as {ALL}", CURVES,
            contest("fig-m15", same, against("ter"), env=game.__eq__),
        )
        for game in GAMES
    ),
    *both(
        "own-target", "own-target", "TER learns faster than UER with the target network copied every 200 steps, too "
        "(instead of every 1,000)",
        lambda ter: contest("own-target", faster, [(f"{ter} (interval 200)", "uer (interval 200)")]), kind="own",
    ),
    *both(
        "own-network", "own-network", "TER learns faster than UER with the paper's network on pictures, too",
        lambda ter: contest("own-network", faster, [(f"{ter} (nature)", "uer (nature)")]), kind="own",
    ),
    Claim(
        "own-memory", "own-memory", "Sokoban's baselines learn slower with the memory of 50,000 that the released "
        "scripts give them than with TER's million", "-",
        contest("own-memory", faster, [(method, f"{method} (small memory)") for method in BASELINES]), kind="own",
    ),
    Claim(
        "own-levels", "own-levels", f"Sokoban with two boxes (6x6-2, at quick 5x5-2), trained on 64 levels: TER "
        f"plays levels that it has never seen better than {ALL}", "-",
        contest("own-levels", faster, against("ter")), kind="own",
    ),
    Claim(
        "own-predecessors", "own-predecessors", "A larger share of a sweep's transitions end a task with 1 predecessor "
        "than with 3", "-", sweeps("terminal_share", f"ter{RELEASED}", "ter"), kind="own",
    ),
    Claim(
        "own-predecessors-value", "own-predecessors", "With 3 predecessors the ends' value has reached more of the "
        "states after 40 copies of the target network than with 1", "-",
        sweeps("grounded", "ter", f"ter{RELEASED}"), kind="own",
    ),
], FULL_ONLY)  # fmt: skip
