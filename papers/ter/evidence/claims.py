"""The paper's statements about Figs. 3 to 6, Table B.1 and Figs. E.7 to M.15, as checks of tidy results.

How runs are compared is said in `comparisons.py`, what the verdicts mean in `lab/judge/verdicts.py`. The factor and the
pairs of tasks below were fixed before the comparisons were run.

On MiniGrid the paper's text and the scripts released with it are two different methods: each claim there about TER has
a verdict as printed (3 predecessors) and one as released (1).
"""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pandas as pd

from lab.judge.claims import Claim, planned_from
from lab.judge.comparisons import Compare, Runs, Score, Side, last
from lab.judge.results import Results
from lab.judge.verdicts import Verdict, above, all_of, decide, difference, gated, judged, mean_of, number
from papers.ter.agents.settings import METHODS
from papers.ter.evidence import claims_dreamer, claims_nchain
from papers.ter.evidence.budgets import GAMES, LARGEST_RETURN, QUICK, SOKOBAN, TASKS
from papers.ter.evidence.comparisons import LAST, METRIC, OVERESTIMATION, ROOM, contest, places
from papers.ter.evidence.experiments import RELEASED
from papers.ter.evidence.labels import label
from papers.ter.evidence.measures import batch_time

BASELINES = METHODS[:-1]
FACTOR = 2.0
"""Largest ratio of batch times that counts as similar; the paper's own means differ by up to 1.5."""


def leads(runs: Runs, others: tuple[str, ...], *tasks: str, ter: str = "ter") -> np.ndarray:
    """Score of TER less the mean of the others', on average over tasks, for each seed that all have."""

    def of(method: str, env: str) -> pd.Series:
        return pd.Series(runs.area(METRIC, method, env), runs.seeds(method, env))

    gaps = [of(ter, env) - of(method, env) for env in tasks for method in others]
    return pd.concat(gaps, axis=1).dropna().mean(axis=1).to_numpy()


def overall(experiment: str, ter: str = "ter") -> Callable[[Results], Verdict]:
    """Check of Fig. 3: scores averaged over the tasks on which anybody learns, an arm of TER against each other method.
    All tasks that the claim is about have to be run."""

    def check(results: Results) -> Verdict:
        runs = ROOM.runs(results, experiment)
        planned = [place.env for place in places(experiment, runs.scale)]
        sides = {env: [runs.learns(method, env) for method in (ter, *BASELINES)] for env in planned}
        learned = [env for env in planned if any(side.learns for side in sides[env])]
        steps = max(runs.steps(env, ter) for env in planned)

        def versus(method: str) -> Verdict:
            lead = mean_of(leads(runs, (method,), *(learned or planned), ter=ter))
            return decide(lead, above(), steps=steps, scale=runs.scale)

        names = {f"{label(ter)} vs {label(method)}": method for method in BASELINES}
        verdict = all_of(judged(names, lambda name: versus(names[name])))
        if not learned:
            return gated(verdict)
        left_out = [env for env in planned if env not in learned]
        verdict.note += f"; without {', '.join(left_out)}, where nobody learns at this budget" if left_out else ""
        return verdict

    return check


def growing_lead(results: Results) -> Verdict:
    """Fig. 3b: TER's lead in both rows of the figure, in the hardest task against the easiest."""
    runs = ROOM.runs(results, "fig3b")

    def judge(tasks: tuple[str, str]) -> Verdict:
        gap = difference(*(leads(runs, BASELINES, env) for env in tasks))
        steps = max(runs.steps(env, "ter") for env in tasks)
        sides = {f"{label(m)} on {env}": runs.learns(m, env) for m in METHODS for env in reversed(tasks)}
        return gated(decide(gap, above(), steps=steps, scale=runs.scale), **sides)

    parts = {" against ".join(tasks): tasks for tasks in (("6x6-3", "5x5-1"), ("7x7-2", "5x5-2"))}
    return all_of(judged(parts, lambda part: judge(parts[part])))


def predicted_error(runs: Runs, method: str, env: str) -> np.ndarray:
    """DisCor's mean predicted error at the end, on which its temperature is set, over the largest return, less 1."""
    return runs.last("tau", method, env, LAST) / LARGEST_RETURN[env] - 1


def over_estimation(of: str, sign: str, methods: list[str], on: tuple[str, ...]) -> Compare:
    """Check of Figs. 4b and E.7: (mean Q - R_max) / R_max of each method, against 0."""
    return ROOM.all({label(method): (method, sign, 0.0) for method in methods}, of=of, on=on, by=OVERESTIMATION)


def seconds(metric: str, x: str, sign: str, y: str) -> Compare:
    """Check of Table B.1: batch times of x against those of y, by their ratio."""
    score = Score(last(metric), ratio=True, show=number, note=f"{label(x)} / {label(y)}")
    margin = None if sign == ">" else FACTOR
    return ROOM.all(x, sign, y, of="table-b1", on=batch_time.Config.env, by=score, margin=margin)


def left_again(method: str) -> Callable[[Runs, str], Side]:
    """The method on the version of a task whose goal is not terminal."""
    return lambda runs, env: (method, f"{env} (no terminal)")


# ---- the claims ------------------------------------------------------------------------------------------------------

LAVA = ("LavaCrossing-Hard",)
HIGHER = [(family, f"{family} x{ratio}") for family in BASELINES for ratio in (1, 2)]
ALL = "UER, PER, EBU and DisCor"
CURVES = "curves, no numbers"
ARMS = {"ter": ("", "as printed: 3 predecessors"), f"ter{RELEASED}": ("-released", "as released: 1 predecessor")}
"""Arm of TER on MiniGrid -> what its claims are called, and what their text says."""


def against(ter: str, others: tuple[str, ...] = BASELINES) -> list[tuple[str, str]]:
    return [(ter, other) for other in others]


def on_task(task: str, ter: str) -> Compare:
    return contest("fig3a", ">=", against(ter), on=(task,))


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
CLAIMS = planned_from([
    *claims_nchain.CLAIMS,
    *claims_dreamer.CLAIMS,
    *(
        claim
        for task in TASKS
        for claim in both(f"fig3a-{task.lower()}", "fig3a", f"{task}: TER learns at least as fast as {ALL}",
                          partial(on_task, task))
    ),
    *both("fig3a-overall", "fig3a", f"MiniGrid on average: TER learns faster than {ALL}",
          lambda ter: overall("fig3a", ter)),
    *(
        Claim(f"fig3b-{task}", "fig3b", f"Sokoban {task}: TER learns faster than {ALL}", CURVES,
              contest("fig3b", ">", against("ter"), on=(task,)))
        for task in SOKOBAN
    ),
    Claim("fig3b-overall", "fig3b", f"Sokoban on average: TER learns faster than {ALL}", CURVES, overall("fig3b")),
    Claim("fig3b-lead", "fig3b", "Sokoban: TER's lead over the baselines' mean grows with the room and the boxes",
          CURVES, growing_lead),
    Claim("fig3b-order", "fig3b", "Sokoban: EBU and DisCor learn slower than UER", CURVES,
          contest("fig3b", ">", [("uer", "ebu"), ("uer", "discor")])),
    Claim("fig3b-errors", "fig3b", "Sokoban: DisCor's mean predicted error explodes: it ends above the largest return "
          "R_max (printed: share of R_max, less 1)", "no numbers",
          ROOM.all("discor", ">", 0.0, of="fig3b", by=Score(predicted_error))),
    *both("fig4a-gap", "fig4", "MiniGrid: baselines at replay ratios 1 and 2 learn slower than TER at 0.25",
          lambda ter: contest("fig4", ">", [(f"{ter} x0.25", method) for _, method in HIGHER], on=TASKS)),
    Claim("fig4a-gap-sokoban", "fig4", "Sokoban: baselines at replay ratios 1 and 2 learn slower than TER at 0.25",
          CURVES, contest("fig4", ">", [("ter x0.25", method) for _, method in HIGHER], on=SOKOBAN)),
    Claim("fig4a-ratio", "fig4", "MiniGrid: most baselines do not gain from a higher replay ratio (LavaCrossing-Hard "
          "aside)", CURVES,
          contest("fig4", ">=", [(f"{family} x0.25", method) for family, method in HIGHER],
                  on=[task for task in TASKS if task not in LAVA], each="most")),
    Claim("fig4a-ratio-sokoban", "fig4", "Sokoban: most baselines do not gain from a higher replay ratio", CURVES,
          contest("fig4", ">=", [(f"{family} x0.25", method) for family, method in HIGHER], on=SOKOBAN, each="most")),
    Claim("fig4a-lava", "fig4", "On LavaCrossing-Hard higher replay ratios help every baseline", CURVES,
          contest("fig4", ">", [(method, f"{family} x0.25") for family, method in HIGHER], on=LAVA)),
    Claim("fig4b", "fig4", "MiniGrid: at replay ratios 1 and 2 the baselines' mean Q ends above the largest return "
          "R_max", "far above 0", over_estimation("fig4", ">", [method for _, method in HIGHER], TASKS)),
    Claim("fig4b-sokoban", "fig4", "Sokoban: at replay ratios 1 and 2 the baselines' mean Q ends above R_max", "far "
          "above 0", over_estimation("fig4", ">", [method for _, method in HIGHER], SOKOBAN)),
    *both("fig5", "fig5", "TER's mixing ratio η hardly matters on MiniGrid: all are like η=0.5",
          lambda ter: contest("fig5", "==", [(f"eta={eta}{ter[3:]}", f"eta=0.5{ter[3:]}")
                                             for eta in (0, 0.05, 0.1, 0.2, 0.7)], on=TASKS)),
    Claim("fig5-high", "fig5", "Sokoban: with high shares, η=0.5 and 0.7, TER learns slower than with 0.1 and 0.2",
          CURVES,
          contest("fig5", ">", [(f"eta={low:g}", f"eta={high:g}") for low in (0.1, 0.2) for high in (0.5, 0.7)],
                  on=SOKOBAN)),
    Claim("fig5-low", "fig5", "Sokoban: with low shares, η=0 and 0.05, TER learns slower than with 0.1 and 0.2", CURVES,
          contest("fig5", ">", [(f"eta={best:g}", f"eta={low:g}") for best in (0.1, 0.2) for low in (0.0, 0.05)],
                  on=SOKOBAN)),
    Claim("fig6", "fig6", "Stitching alone: TER (1 root, 1 predecessor, η=0) learns faster than EBU (β=0, terminal "
          "episodes only)", CURVES,
          contest("fig6", ">", [("ter (1 root, 1 predecessor, eta=0)", "ebu (beta=0, terminal only)")])),
    Claim("table-b1-mean", "table-b1", "TER's mean time to choose a batch is like UER's (within a factor of "
          f"{FACTOR:g})", "TER / UER 1.0 (0.002 s each)", seconds("choose_seconds_mean", "ter", "==", "uer")),
    Claim("table-b1-max", "table-b1", "TER's longest time to choose a batch is not above PER's (margin: a factor of "
          f"{FACTOR:g})", "PER / TER 1.09 (0.28 s, 0.256 s)", seconds("choose_seconds_max", "per", ">=", "ter")),
    Claim("table-b1-median", "table-b1", "TER's median time to choose a batch is above UER's", "TER / UER 6.7 (2e-4 s, "
          "3e-5 s)", seconds("choose_seconds_median", "ter", ">", "uer")),
    Claim("own-table-b1", "table-b1", "With drawing its pictures, which no method is spared, a batch of TER takes "
          f"about as long as one of UER (mean, within a factor of {FACTOR:g})", "-",
          seconds("batch_seconds_mean", "ter", "==", "uer"), kind="own"),
    Claim("fig-e7-ebu", "fig-e7", "Sokoban: EBU's mean Q ends above the largest return R_max", "above 0",
          over_estimation("fig3b", ">", ["ebu"], SOKOBAN)),
    Claim("fig-e7-others", "fig-e7", "Sokoban: the mean Q of UER, PER and DisCor ends below R_max", "below 0",
          over_estimation("fig3b", "<", ["uer", "per", "discor"], SOKOBAN)),
    Claim("fig-f8", "fig-f8", "EBU's diffusion factor β hardly matters: all are like β=0.5", CURVES,
          contest("fig-f8", "==", [(f"beta={beta:g}", "beta=0.5") for beta in (0.0, 0.25, 0.75, 1.0)])),
    Claim("own-ebu-released", "fig-f8", "EBU with double DQN, as the paper has it, learns faster than with the largest "
          "value of the target network, as in the released code (β=0.5)", "-",
          contest("fig-f8", ">", [("beta=0.5", "ebu (released)")]), kind="own"),
    *both("fig-g9", "fig-g9", f"With 10 % random actions TER still learns faster than {ALL}",
          lambda ter: contest("fig-g9", ">", against(ter))),
    *both("fig-h10-ter", "fig-h10", f"Where the goal is not terminal, TER learns faster than {ALL}",
          lambda ter: contest("fig-h10", ">", against(ter), on=[f"{task} (no terminal)" for task in TASKS])),
    Claim("fig-h10-drop", "fig-h10", "Every baseline's return is lower where the goal is not terminal", CURVES,
          ROOM.all({label(method): (method, ">", left_again(method)) for method in BASELINES}, of="fig-h10", on=TASKS)),
    Claim("fig-i11-gain", "fig-i11", "Mixing PER into EBU does not help it", CURVES,
          contest("fig-i11", ">=", [("ebu", "ebu + per")])),
    *both("fig-i11-gap", "fig-i11", "TER learns faster than EBU with PER mixed in",
          lambda ter: contest("fig-i11", ">", [(ter, "ebu + per")])),
    Claim("fig-j12-gain", "fig-j12", "Leaving out time-outs does not help EBU", CURVES,
          contest("fig-j12", ">=", [("ebu", "ebu (no timeout)")])),
    *both("fig-j12-gap", "fig-j12", "TER learns faster than EBU without time-outs",
          lambda ter: contest("fig-j12", ">", [(ter, "ebu (no timeout)")])),
    Claim("fig-k13", "fig-k13", "The projection's length d, even 1, does not matter: as long as it tells all frames "
          "apart, runs are equal to the last bit", CURVES, contest("fig-k13", "==", [("d=1", "d=3"), ("d=10", "d=3")]),
          kind="wiring"),
    *(
        Claim(f"fig-m15-{game.lower()}", "fig-m15", f"{game}: TER learns about as fast as {ALL}", CURVES,
              contest("fig-m15", "==", against("ter"), on=(game,)))
        for game in GAMES
    ),
    *both("own-target", "own-target", "TER learns faster than UER with the target network copied every 200 steps, too "
          "(instead of every 1,000)",
          lambda ter: contest("own-target", ">", [(f"{ter} (interval 200)", "uer (interval 200)")]), kind="own"),
    *both("own-network", "own-network", "TER learns faster than UER with the paper's network on pictures, too",
          lambda ter: contest("own-network", ">", [(f"{ter} (nature)", "uer (nature)")]), kind="own"),
    Claim("own-memory", "own-memory", "Sokoban's baselines learn slower with the memory of 50,000 that the released "
          "scripts give them than with TER's million", "-",
          contest("own-memory", ">", [(method, f"{method} (small memory)") for method in BASELINES]), kind="own"),
    Claim("own-levels", "own-levels", "Sokoban with two boxes (6x6-2, at quick 5x5-2), trained on 64 levels: TER plays "
          f"levels that it has never seen better than {ALL}", "-", contest("own-levels", ">", against("ter")),
          kind="own"),
    Claim("own-predecessors", "own-predecessors", "A larger share of a sweep's transitions end a task with 1 "
          "predecessor than with 3", "-",
          ROOM.all(f"ter{RELEASED}", ">", "ter", of="own-predecessors", by=Score(last("terminal_share"))), kind="own"),
    Claim("own-predecessors-value", "own-predecessors", "With 3 predecessors the ends' value has reached more of the "
          "states after 40 copies of the target network than with 1", "-",
          ROOM.all("ter", ">", f"ter{RELEASED}", of="own-predecessors", by=Score(last("grounded"))), kind="own"),
], full=FULL_ONLY)  # fmt: skip
