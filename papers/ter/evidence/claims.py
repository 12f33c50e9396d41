"""The paper's statements about Figs. 3 to 6, Table B.1 and Figs. E.7 to M.15, as checks of tidy results.

How runs are compared, and what counts as nothing, is said in `comparisons.py`. Margins were fixed before the
comparisons were run.
"""

from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd

from lab.claims import Claim, Verdict, combine, number
from lab.results import Results, final
from papers.ter.evidence import claims_nchain
from papers.ter.evidence.comparisons import (
    LAST,
    MARGIN,
    NOBODY,
    Rule,
    Side,
    against_zero,
    below,
    better,
    contest,
    judge,
    last_step,
    learns,
    no_worse,
    same,
    score,
    settle_all,
    settle_any,
    tasks,
)
from papers.ter.evidence.experiments import EXPERIMENTS, GAMES, LARGEST_RETURN, QUICK_SOKOBAN, SOKOBAN, TASKS
from papers.ter.evidence.labels import label
from papers.ter.settings import METHODS

BASELINES = METHODS[:-1]
FACTOR = 2.0
"""Largest ratio of mean batch times that counts as similar; the paper's own differ by up to 1.5."""


def overall(experiment: str) -> Callable[[Results], Verdict]:
    """Check of Fig. 3: scores averaged over the tasks on which anybody learns, TER against each baseline."""

    def check(results: Results) -> Verdict:
        frame, scale = results.need(experiment)
        return _overall(frame, scale, tasks(experiment, scale))

    return check


def _overall(frame: pd.DataFrame, scale: str, everywhere: list[str]) -> Verdict:
    steps = last_step(frame, *everywhere)
    scores = {(method, task): score(frame, (method, task)) for method in METHODS for task in everywhere}
    learned = [task for task in everywhere if any(learns(frame, (method, task)) for method in METHODS)]
    seeds = min(map(len, scores.values()))
    if not learned:
        return Verdict("inconclusive", NOBODY, "", seeds, steps, scale)
    # runs of one seed in two tasks are independent, so that pairing them is as good as any other way
    mean = {method: np.mean([scores[method, task][:seeds] for task in learned], axis=0) for method in METHODS}
    verdict = combine({f"TER vs {label(m)}": judge(mean["ter"], mean[m], better, steps, scale) for m in BASELINES})
    left_out = [task for task in everywhere if task not in learned]
    verdict.note += f"; without {', '.join(left_out)}, where {NOBODY}" if left_out else ""
    return verdict


def over_estimation(
    experiment: str, rule: Rule, methods: Iterable[str], where: tuple[str, ...]
) -> Callable[[Results], Verdict]:
    """Check of Figs. 4b and E.7: ``rule`` on (mean Q - R_max) / R_max of each method in the tasks ``where``."""
    pairs = [(method, method) for method in methods]
    return contest(experiment, rule, pairs, env=where.__contains__, metric="q_overestimation", compare=against_zero)


def times(statistic: str, rule: Rule, x: str, y: str) -> Callable[[Results], Verdict]:
    """Check of Table B.1: ``rule`` on logarithms of batch times, x against y; printed as the ratio x / y."""

    def check(results: Results) -> Verdict:
        frame, scale = results.need("table-b1")
        [env] = tasks("table-b1", scale)
        first, second = (np.log(final(frame, f"batch_seconds_{statistic}", method, env)) for method in (x, y))
        steps, margin = last_step(frame, env), float(np.log(FACTOR))
        verdict = judge(first, second, rule, steps, scale, margin, lambda value: number(float(np.exp(value))))
        return settle_all({f"{label(x)} / {label(y)}, both with drawing the pictures": verdict})

    return check


def lead(easy: str, hard: str, results: Results) -> Verdict:
    """Fig. 3b: TER's score over the mean of the baselines', in a hard task against an easy one."""
    frame, scale = results.need("fig3b")

    def of(task: str) -> np.ndarray:
        scores = [score(frame, (method, task)) for method in METHODS]
        seeds = min(map(len, scores))
        *baselines, ter = (values[:seeds] for values in scores)
        return ter - np.mean(baselines, axis=0)

    verdict = judge(of(hard), of(easy), better, last_step(frame, easy, hard), scale)
    if not any(learns(frame, (method, task)) for method in METHODS for task in (easy, hard)):
        verdict.status, verdict.effect, verdict.interval = "inconclusive", NOBODY, ""
    return verdict


def growing_lead(results: Results) -> Verdict:
    """Fig. 3b: in both rows of the figure, the hardest task against the easiest; at quick, the two tasks there are."""
    pairs = [("5x5-1", "6x6-3"), ("5x5-2", "7x7-2")]
    _, scale = results.need("fig3b")
    if scale == "quick":
        pairs = [QUICK_SOKOBAN]
    return settle_all({f"{hard} against {easy}": lead(easy, hard, results) for easy, hard in pairs})


def predicted_error(frame: pd.DataFrame, scale: str, x: Side, y: Side, rule: Rule, metric: str) -> Verdict:
    """DisCor's mean predicted error at the end, on which its temperature is set, over the largest return, less 1."""
    [reward_scale] = {run.config.reward_scale for run in EXPERIMENTS["fig3b"](scale) if (run.method, run.env) == x}
    errors = final(frame, metric, *x, last=LAST) / (reward_scale * LARGEST_RETURN[x[1]])
    return judge(errors, np.ones_like(errors), rule, last_step(frame, x[1]), scale)


# ---- the claims ------------------------------------------------------------------------------------------------------

HIGHER = [(family, f"{family} x{ratio}") for family in BASELINES for ratio in (1, 2)]
AGAINST = [("ter", baseline) for baseline in BASELINES]
ALL = "UER, PER, EBU and DisCor"
CURVES = "curves, no numbers"

CLAIMS = [
    *claims_nchain.CLAIMS,
    *(
        Claim(
            f"fig3a-{task.lower()}", "fig3a", f"{task}: TER learns at least as fast as {ALL} (margin {MARGIN})", CURVES,
            contest("fig3a", no_worse, AGAINST, env=task.__eq__),
        )
        for task in TASKS
    ),
    Claim(
        "fig3a-overall", "fig3a", f"MiniGrid on average: TER learns faster than {ALL}", CURVES,
        overall("fig3a"),
    ),
    *(
        Claim(
            f"fig3b-{task}", "fig3b", f"Sokoban {task}: TER learns faster than {ALL}", CURVES,
            contest("fig3b", better, AGAINST, env=task.__eq__),
        )
        for task in SOKOBAN
    ),
    Claim(
        "fig3b-overall", "fig3b", f"Sokoban on average: TER learns faster than {ALL}", CURVES, overall("fig3b"),
    ),
    Claim(
        "fig3b-lead", "fig3b", "Sokoban: TER's lead over the baselines' mean grows with the room and the boxes", CURVES,
        growing_lead,
    ),
    Claim(
        "fig3b-order", "fig3b", "Sokoban: EBU and DisCor learn slower than UER", CURVES,
        contest("fig3b", better, [("uer", "ebu"), ("uer", "discor")]),
    ),
    Claim(
        "fig3b-errors", "fig3b", "Sokoban: DisCor's mean predicted error explodes: it ends above R_max (printed: share "
        "of R_max, less 1)", "no numbers",
        contest("fig3b", better, [("discor", "discor")], metric="tau", compare=predicted_error),
    ),
    Claim(
        "fig4a-gap", "fig4", "MiniGrid: baselines at replay ratios 1 and 2 learn slower than TER at 0.25", CURVES,
        contest("fig4", better, [("ter x0.25", method) for _, method in HIGHER], env=TASKS.__contains__),
    ),
    Claim(
        "fig4a-gap-sokoban", "fig4", "Sokoban: baselines at replay ratios 1 and 2 learn slower than TER at 0.25",
        CURVES, contest("fig4", better, [("ter x0.25", method) for _, method in HIGHER], env=SOKOBAN.__contains__),
    ),
    Claim(
        "fig4a-ratio", "fig4", "MiniGrid: higher replay ratios do not help every baseline (LavaCrossing-Hard aside)",
        CURVES,
        contest(
            "fig4", no_worse, [(f"{family} x0.25", method) for family, method in HIGHER],
            env=[task for task in TASKS if task != "LavaCrossing-Hard"].__contains__, settle=settle_any,
        ),
    ),
    Claim(
        "fig4a-ratio-sokoban", "fig4", "Sokoban: higher replay ratios do not help every baseline", CURVES,
        contest(
            "fig4", no_worse, [(f"{family} x0.25", method) for family, method in HIGHER],
            env=SOKOBAN.__contains__, settle=settle_any,
        ),
    ),
    Claim(
        "fig4a-lava", "fig4", "On LavaCrossing-Hard higher replay ratios help every baseline", CURVES,
        contest(
            "fig4", better, [(method, f"{family} x0.25") for family, method in HIGHER], env="LavaCrossing-Hard".__eq__
        ),
    ),
    Claim(
        "fig4b", "fig4", "MiniGrid: at replay ratios 1 and 2 the baselines' mean Q ends above the largest return R_max",
        "far above 0", over_estimation("fig4", better, (method for _, method in HIGHER), TASKS),
    ),
    Claim(
        "fig4b-sokoban", "fig4", "Sokoban: at replay ratios 1 and 2 the baselines' mean Q ends above R_max",
        "far above 0", over_estimation("fig4", better, (method for _, method in HIGHER), SOKOBAN),
    ),
    Claim(
        "fig5", "fig5", f"TER's mixing ratio η hardly matters on MiniGrid (within {MARGIN} of η=0.5)", CURVES,
        contest(
            "fig5", same, [(f"eta={eta:g}", "eta=0.5") for eta in (0.0, 0.05, 0.1, 0.2, 0.7)], env=TASKS.__contains__
        ),
    ),
    Claim(
        "fig5-high", "fig5", "Sokoban: with high shares, η=0.5 and 0.7, TER learns slower than with 0.1 and 0.2",
        CURVES,
        contest(
            "fig5", better, [(f"eta={low:g}", f"eta={high:g}") for low in (0.1, 0.2) for high in (0.5, 0.7)],
            env=SOKOBAN.__contains__,
        ),
    ),
    Claim(
        "fig5-low", "fig5", "Sokoban: with low shares, η=0 and 0.05, TER learns slower than with 0.1 and 0.2", CURVES,
        contest(
            "fig5", better, [(f"eta={best:g}", f"eta={low:g}") for best in (0.1, 0.2) for low in (0.0, 0.05)],
            env=SOKOBAN.__contains__,
        ),
    ),
    Claim(
        "fig6", "fig6", "Stitching alone: TER (1 root, 1 predecessor, η=0) learns faster than EBU (β=0)", CURVES,
        contest("fig6", better, [("ter (1 root, 1 predecessor, eta=0)", "ebu (beta=0, terminal only)")]),
    ),
    Claim(
        "table-b1-mean", "table-b1", f"TER's mean time to make a batch is like UER's (within a factor of {FACTOR:g})",
        "TER / UER 1.0 (0.002 s each)", times("mean", same, "ter", "uer"),
    ),
    Claim(
        "table-b1-max", "table-b1", f"TER's longest time is not above PER's (margin: a factor of {FACTOR:g})",
        "PER / TER 1.09 (0.28 s, 0.256 s)", times("max", no_worse, "per", "ter"),
    ),
    Claim(
        "table-b1-median", "table-b1", "TER's median time to make a batch is above UER's",
        "TER / UER 6.7 (2e-4 s, 3e-5 s)", times("median", better, "ter", "uer"),
    ),
    Claim(
        "fig-e7-ebu", "fig-e7", "Sokoban: EBU's mean Q ends above the largest return R_max", "above 0",
        over_estimation("fig3b", better, ["ebu"], SOKOBAN),
    ),
    Claim(
        "fig-e7-others", "fig-e7", "Sokoban: the mean Q of UER, PER and DisCor ends below R_max", "below 0",
        over_estimation("fig3b", below, ["uer", "per", "discor"], SOKOBAN),
    ),
    Claim(
        "fig-f8", "fig-f8", f"EBU's diffusion factor β hardly matters (within {MARGIN} of β=0.5)", CURVES,
        contest("fig-f8", same, [(f"beta={beta:g}", "beta=0.5") for beta in (0.0, 0.25, 0.75, 1.0)]),
    ),
    Claim(
        "fig-g9", "fig-g9", f"With 10 % random actions TER still learns faster than {ALL}", CURVES,
        contest("fig-g9", better, AGAINST),
    ),
    Claim(
        "fig-h10-ter", "fig-h10", f"Where the goal is not terminal, TER learns faster than {ALL}", CURVES,
        contest("fig-h10", better, AGAINST, env=lambda name: name.endswith("(no terminal)")),
    ),
    Claim(
        "fig-h10-drop", "fig-h10", "Every baseline succeeds less often where the goal is not terminal", CURVES,
        contest(
            "fig-h10", better, [(baseline, baseline) for baseline in BASELINES], other=" (no terminal)",
            env=lambda name: not name.endswith("(no terminal)"), metric="success",
        ),
    ),
    Claim(
        "fig-i11-gain", "fig-i11", f"Mixing PER into EBU does not help it (margin {MARGIN})", CURVES,
        contest("fig-i11", no_worse, [("ebu", "ebu + per")]),
    ),
    Claim(
        "fig-i11-gap", "fig-i11", "TER learns faster than EBU with PER mixed in", CURVES,
        contest("fig-i11", better, [("ter", "ebu + per")]),
    ),
    Claim(
        "fig-j12-gain", "fig-j12", f"Leaving out time-outs does not help EBU (margin {MARGIN})", CURVES,
        contest("fig-j12", no_worse, [("ebu", "ebu (no timeout)")]),
    ),
    Claim(
        "fig-j12-gap", "fig-j12", "TER learns faster than EBU without time-outs", CURVES,
        contest("fig-j12", better, [("ter", "ebu (no timeout)")]),
    ),
    Claim(
        "fig-k13", "fig-k13", f"The projection's length d, even 1, hardly matters (within {MARGIN} of d=3)", CURVES,
        contest("fig-k13", same, [("d=1", "d=3"), ("d=10", "d=3")]),
    ),
    *(
        Claim(
            f"fig-m15-{game.lower()}", "fig-m15", f"{game}: TER learns about as fast as {ALL} (within {MARGIN} of a "
            "person's score)", CURVES, contest("fig-m15", same, AGAINST, env=game.__eq__),
        )
        for game in GAMES
    ),
    Claim(
        "own-target", "own-target", "Not in the paper: TER learns faster than UER with the target network copied every "
        "200 steps, too", "-", contest("own-target", better, [("ter (interval 200)", "uer (interval 200)")]),
    ),
    Claim(
        "own-memory", "own-memory", "Not in the paper: Sokoban's baselines learn slower with the memory of 50,000 that "
        "the released scripts give them than with TER's 1M", "-",
        contest("own-memory", better, [(method, f"{method} (small memory)") for method in BASELINES]),
    ),
    Claim(
        "own-start", "own-start", "Not in the paper: at the beginning of training on Sokoban 5x5-1, TER is ahead of "
        "UER (mean over the first 75,000 steps of quick's)", "-", contest("own-start", better, [("ter", "uer")]),
    ),
]  # fmt: skip
