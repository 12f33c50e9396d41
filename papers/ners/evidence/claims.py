"""All claims of the paper that runs can check, figure by figure, and our own.

Those of the paper and their limits were written down before the runs by which they are judged; two of Fig. 1 had been
reworded after theirs and were restored. claims_runs.py says what a score is, what is paired and what the parts of a
claim are; claims_law.py has what claims about draws need.

Orderings are judged at the scale there is. Numbers are compared only with runs as long as the paper's. Where the
paper's text and its own tables disagree, the column of the paper's values says so.
"""

from functools import partial

from lab.judge.claims import Claim, planned_from
from lab.judge.comparisons import Score, last
from lab.judge.intervals import MARGIN, number
from papers.ners.evidence import claims_law as law
from papers.ners.evidence.claims_runs import (
    CLOSE,
    ROOM,
    THROUGHOUT,
    beyond,
    ero_apart,
    half_the_margin,
    late,
    lower_rate_is_better,
    ordering,
    random_as_printed,
)
from papers.ners.evidence.labels import INDEPENDENT, READINGS
from papers.ners.evidence.paper_values import BASELINES, FIG5, TABLE1, TABLE2, margin
from papers.ners.evidence.plan import PENDULUM, WALKER, read_as

CURVES = "curves, no numbers"
LIKE = f"(within {MARGIN:.0%} of what was learned)"
OF_TASKS = "for most agents and tasks"
EVERYWHERE = ("fig3", "table1", "table2")
PARTS_OF_NERS = (WALKER, PENDULUM)
"""Tasks on which Fig. 4 leaves parts of NERS out."""
best = partial(ROOM.all, beyond("ners", ">", BASELINES))
best_throughout = partial(ROOM.most, beyond("ners", ">", BASELINES, THROUGHOUT))
FULL_ONLY = (
    "table1-margin", "own-random-baseline", "own-random-baseline-atari", "table2-margin",
    "fig5-early", "fig5-late", "fig5-others",
)  # fmt: skip
"""Compared with numbers at the paper's length, or about tasks that quick leaves out."""
HEADLINE = ("fig3-ners", "table1-ners", "table2-ners", "fig4-global")
"""The introduction: NERS "consistently outperforms both existing rule-based and learning-based sampling methods", with
SAC, TD3 and Rainbow; the abstract: because it "considers both local and global contexts"."""
SUMMARY = {
    "On the sparse pendulum (`{own-fig3-random.scale}`: {own-fig3-random.steps:,} steps, {own-fig3-random.seeds} "
    "seeds) NERS ends where RANDOM does with SAC and TD3 (not after correction).":
        {"not reproduced": ["fig3-ners"], "reproduced": ["own-fig3-random"]},
    "On Hopper ({table1-ners.steps:,} steps, {table1-ners.seeds} seeds) and MsPacman ({table2-ners.steps:,} "
    "steps, {table2-ners.seeds} seeds) nothing is decided.":
        {"inconclusive": ["table1-ners", "table2-ners"]},
    "In Fig. 1 ({fig1-td.steps:,} steps, {fig1-td.seeds} seeds) draws by TD error show a hanging rod more often than "
    "uniform ones, but not mostly; draws by Q mostly an upright one, not clearly more often.":
        {"not reproduced": ["fig1-td"], "reproduced": ["own-fig1-td", "fig1-q"], "inconclusive": ["own-fig1-q"]},
}  # fmt: skip
"""The claims in three sentences, each with the verdicts that it rests on."""
CLAIMS = planned_from([
    # Fig. 1
    Claim("fig1-td", "fig1", f"More than {law.MOSTLY:.0%} of the draws by TD error (in proportion to its size: the "
          "paper names no law) show the pendulum hanging down, in the lower quarter of the circle", "mostly",
          law.mostly("td", "downward")),
    Claim("fig1-q", "fig1", f"More than {law.MOSTLY:.0%} of the draws by Q (in proportion to it, from the lowest) show "
          "the pendulum upright, in the upper quarter", "upright", law.mostly("q", "upright")),
    Claim("fig1-uniform", "fig1", "Uniform draws are mixed: horizontal rods are more frequent in them than in draws by "
          "TD error and in draws by Q", "diverse",
          law.DRAWS.all({"than by TD error": ("random", ">", 0.0, law.more_horizontal("td")),
                         "than by Q": ("random", ">", 0.0, law.more_horizontal("q"))}, of=("fig1",))),
    Claim("own-fig1-td", "fig1", "Post hoc: draws by TD error show the pendulum hanging down more often than uniform "
          "ones", "-", law.DRAWS.all("random", ">", 0.0, of=("fig1",), by=law.over_represented("td", "downward")),
          kind="own"),
    Claim("own-fig1-q", "fig1", "Post hoc: draws by Q show the pendulum upright more often than uniform ones", "-",
          law.DRAWS.all("random", ">", 0.0, of=("fig1",), by=law.over_represented("q", "upright")), kind="own"),
    Claim("own-fig1-top", "fig1", "Our prediction: of the 64 transitions with the largest TD errors, too, more than "
          f"{law.MOSTLY:.0%} show the pendulum hanging down", "mostly", law.mostly("top_td", "downward"), kind="own"),
    Claim("own-fig1-terminal", "fig1", "The same with time-outs stored as terminations", "mostly",
          law.mostly("top_td", "downward", "random terminal"), kind="own"),
    # Fig. 3
    Claim("fig3-ners", "fig3", "NERS ends above RANDOM, PER and ERO, with each agent on each task", "in all cases",
          best(of=("fig3",))),
    Claim("fig3-per", "fig3", f"PER ends below RANDOM on classical and Box2D tasks, {OF_TASKS}", "often worse",
          ROOM.most("per", "<", "random", of=("fig3",))),
    Claim("fig3-ero", "fig3", f"ERO ends where RANDOM does {LIKE} on classical and Box2D tasks, {OF_TASKS}", "close",
          ROOM.most("ero", "==", "random", of=("fig3",))),
    # Table 1
    Claim("table1-ners", "table1", "MuJoCo: NERS ends above RANDOM, PER and ERO, with each agent on each task", "all "
          f"cases; {sum(margin(row) > 0 for row in TABLE1.values())} of {len(TABLE1)} cells", best(of=("table1",))),
    Claim("table1-margin", "table1", "MuJoCo: NERS ends above each of them by more than half of the paper's margin "
          f"over the best, {OF_TASKS} (full length only)", " ".join(f"+{margin(row):.0f}" for row in TABLE1.values()),
          ROOM.most(half_the_margin, of=("table1",))),
    Claim("table1-per", "table1", f"MuJoCo: PER ends below RANDOM {OF_TASKS}", "often; "
          f"{ordering(TABLE1, 'random', 'per')}", ROOM.most("per", "<", "random", of=("table1",))),
    Claim("table1-ero", "table1", f"MuJoCo: ERO ends where RANDOM does {LIKE} {OF_TASKS}", "text: close; its table: "
          f"{ero_apart(TABLE1)}", ROOM.most("ero", "==", "random", of=("table1",))),
    Claim("own-random-baseline", "table1", f"MuJoCo: our RANDOM is the paper's (within {CLOSE:.0%}) {OF_TASKS} "
          "(full length only)", " ".join(f"{row['random']:.0f}" for row in TABLE1.values()),
          ROOM.most(random_as_printed, of=("table1",)), kind="own"),
    # Table 2
    Claim("table2-ners", "table2", "Rainbow: NERS ends above RANDOM, PER and ERO in each game", "all cases; "
          f"{sum(margin(row) > 0 for row in TABLE2.values())} of {len(TABLE2)} games", best(of=("table2",))),
    Claim("table2-margin", "table2", "Rainbow: NERS ends above each of them by more than half of the paper's margin "
          "over the best, in most games (full length only)", "brackets of Table 2",
          ROOM.most(half_the_margin, of=("table2",))),
    Claim("table2-per", "table2", "Rainbow: PER ends above RANDOM in most games", "effective; "
          f"{ordering(TABLE2, 'per', 'random')}", ROOM.most("per", ">", "random", of=("table2",))),
    Claim("table2-ero", "table2", f"Rainbow: ERO ends where RANDOM does {LIKE} in most games", "text: close; its "
          f"table: {ero_apart(TABLE2)}", ROOM.most("ero", "==", "random", of=("table2",))),
    Claim("own-random-baseline-atari", "table2", f"Rainbow: our RANDOM is the paper's (within {CLOSE:.0%}) in "
          "most games (full length only)", "column RANDOM", ROOM.most(random_as_printed, of=("table2",)),
          kind="own"),
    # Table 3
    Claim("table3-per-td", "table3", "The squared TD errors that PER replays on the pendulum spread more than each "
          "other sampler's", "1257 against 529 to 723", law.extreme("per", ">", "sd TD²")),
    Claim("table3-per-q", "table3", "The Q that PER replays on the pendulum spread less than each other sampler's",
          "50 against 59 to 65", law.extreme("per", "<", "sd Q")),
    Claim("table3-ners", "table3", "On the pendulum NERS replays a larger spread of both squared TD errors and Q than "
          "RANDOM and ERO", "723 and 65 against 529 and 60, 561 and 59", law.ners_spreads()),
    Claim("table3-mean-q", "table3", "On the pendulum NERS replays a higher mean Q than each other sampler", "-104 "
          "against -119 to -138", law.extreme("ners", ">", "mean Q")),
    Claim("table3-ero", "table3", "On the pendulum what ERO replays is like what RANDOM does, in spread and mean of "
          f"squared TD errors and of Q (within {law.CLOSE:.0%})", "within 6 % each", law.ero_like_random),
    Claim("own-table3-terminal", "table3", "Our prediction: with time-outs stored as terminations, mean and spread of "
          f"the squared TD errors that RANDOM replays are the paper's (within a factor {law.FACTOR:g})", "62 and 529",
          law.as_printed(" terminal"), kind="own"),
    Claim("own-table3-bootstrap", "table3", "The same with time-outs bootstrapped, as everywhere else here", "62 and "
          "529", law.as_printed(""), kind="own"),
    Claim("own-table3-per-td", "table3", "With time-outs stored as terminations the squared TD errors that PER replays "
          "spread more than each other sampler's", "1257 against 529 to 723",
          law.extreme("per", ">", "sd TD²", " terminal"), kind="own"),
    Claim("own-table3-ners", "table3", "With time-outs stored as terminations NERS replays a larger spread of both "
          "squared TD errors and Q than RANDOM and ERO", "723 and 65 against 529 and 60, 561 and 59",
          law.ners_spreads(" terminal"), kind="own"),
    # Fig. 4
    Claim("fig4-few", "fig4", "NERS ends above NERS with only reward, TD error and time (SAC on the walker; quick: on "
          "the sparse pendulum)", CURVES, ROOM.most("ners", ">", "ners few", of=("fig4",), on=PARTS_OF_NERS)),
    Claim("fig4-global", "fig4", "NERS ends above NERS without global context (SAC on the walker; quick: on the sparse "
          "pendulum)", CURVES, ROOM.most("ners", ">", "ners no-global", of=("fig4",), on=PARTS_OF_NERS)),
    Claim("fig4-star", "fig4", f"NERS*, with training returns, ends where NERS does {LIKE} with SAC, on each task",
          "no significant difference", ROOM.all("ners*", "==", "ners", of=("fig4",))),
    # Fig. 5
    Claim("fig5-early", "fig5", "Early, NERS replays higher TD errors (mean logarithm) than RANDOM, SAC, on most of "
          "BipedalWalker, Ant and Walker2d", CURVES, law.high_td_early(on=FIG5)),
    Claim("fig5-late", "fig5", "Late, NERS replays both higher TD errors and higher Q than RANDOM, SAC, on most of "
          "these three tasks (the TD errors decide: with a better policy Q is higher anyway)", CURVES,
          law.high_both_late(on=FIG5)),
    Claim("fig5-others", "fig5", "Late, neither PER nor ERO replays both higher TD errors and higher Q than RANDOM, "
          "SAC, on most of these three tasks", "unique to NERS", law.most_with_sac(law.neither, on=FIG5)),
    # Figs. C.1 and C.2: the curves of the runs of Tables 1 and 2
    Claim("fig-c1-ners", "fig-c1", f"MuJoCo: over all of training NERS is above RANDOM, PER and ERO {OF_TASKS}", "in "
          "most cases; text of Sec. 3.2: all", best_throughout(of=("table1",)), counted_with="table1-ners"),
    Claim("fig-c1-ero", "fig-c1", f"MuJoCo: over all of training ERO is as high as RANDOM {LIKE} {OF_TASKS}", "almost "
          "similar", ROOM.most("ero", "==", "random", of=("table1",), by=THROUGHOUT), counted_with="table1-ero"),
    Claim("fig-c1-per", "fig-c1", f"MuJoCo: over all of training PER is no better than RANDOM {LIKE} {OF_TASKS}", "no "
          "better", ROOM.most("random", ">=", "per", of=("table1",), by=THROUGHOUT), counted_with="table1-per"),
    Claim("fig-c2-ners", "fig-c2", "Rainbow: over all of training NERS is above RANDOM, PER and ERO in most games",
          CURVES, best_throughout(of=("table2",)), counted_with="table2-ners"),
    # our own
    Claim("own-ners-random", "fig3", f"Our prediction: NERS ends where RANDOM does {LIKE}, {OF_TASKS} of Fig. 3 and "
          "Tables 1 and 2", "-", ROOM.most("ners", "==", "random", of=EVERYWHERE), kind="own",
          reads=read_as(*EVERYWHERE)),
    Claim("own-fig3-random", "fig3", "The same on the sparse pendulum, with SAC and with TD3", "-",
          ROOM.all("ners", "==", "random", of=("fig3",), on=(PENDULUM,)), kind="own", counted_with="own-ners-random"),
    Claim("own-ners-per", "fig3", f"For comparison: NERS ends where PER does {LIKE}, {OF_TASKS} of Fig. 3 and Tables 1 "
          "and 2", "-", ROOM.most("ners", "==", "per", of=EVERYWHERE), kind="own", reads=read_as(*EVERYWHERE)),
    Claim("own-fig5-early", "fig5", "On other tasks than the paper's, too, NERS replays higher TD errors than RANDOM "
          "early, SAC, on most of them", "-", law.high_td_early(on=law.ELSEWHERE), kind="own"),
    Claim("own-fig5-late", "fig5", "On other tasks than the paper's, too, NERS replays both higher TD errors and "
          "higher Q than RANDOM late, SAC, on most of them", "-", law.high_both_late(on=law.ELSEWHERE), kind="own"),
    Claim("own-iid", "fig4", "Our prediction: RANDOM with independent draws ends where RANDOM with one draw from each "
          f"part of the memory does {LIKE} (SAC on the walker; quick: on the sparse pendulum)", "-",
          ROOM.most(INDEPENDENT, "==", "random", of=("fig4",), on=PARTS_OF_NERS), kind="own"),
    Claim("own-why-shrinks", "own-why", "Our derivation: NERS's networks as they are initialised leave less than "
          f"{law.SHRUNK:.0%} of the spread of their inputs, however the time step is read", "-",
          law.UNTRAINED.all({time: (f"{time} signs", "<", law.SHRUNK) for time in law.TIMES}, of=("own-why",),
                            by=Score(law.left_over, show=number)), kind="own"),
    Claim("own-why-steps", "own-why", "Our prediction: 2,500 steps with replay rewards of random signs leave the law "
          f"of the scored transitions within {law.UNIFORM:.0%} total variation of uniform, whether the time step is a "
          "share of the limit or the step in the episode", "-",
          ROOM.all({time: (f"{time} signs", "<", law.UNIFORM) for time in law.BOUNDED}, of=("own-why",),
                   by=Score(last("tv_replayed"), show=number)), kind="own"),
    Claim("own-why-environment", "own-why", "Our prediction: where the time step is the environment's, as in Algorithm "
          f"1, 2,500 such steps leave some seed's law more than {law.UNIFORM:.0%} total variation from uniform", "-",
          ROOM.all(law.left_uniform("environment signs", last("tv_replayed"), law.UNIFORM, share=0), of=("own-why",)),
          kind="own"),
    Claim("own-law-readings", "own-law", "Our prediction: by every faithful reading of the paper but for the step of "
          "the environment as time, which has no bound, TD3 on the sparse pendulum, NERS's law among replayed "
          f"transitions ends within {law.UNIFORM:.0%} total variation of uniform", "-",
          ROOM.all({name: law.near(name) for name in READINGS if name != "ners environment"}, of=("own-law",)),
          kind="own"),
    Claim("own-time-law", "own-time", "TD3 on the sparse pendulum, the environment's step as time: after 100,000 steps "
          f"NERS's law is more than {law.LEFT:g} total variation from uniform in most seeds", "-",
          ROOM.all(law.left_uniform("ners environment", late("tv"), law.LEFT, share=0.5), of=("own-time",)),
          kind="own"),
    Claim("own-time-area", "own-time", "By the same reading NERS is above RANDOM over all of training (no difference "
          "expected)", "-", ROOM.all("ners environment", ">", "random", of=("own-time",), by=THROUGHOUT), kind="own"),
    Claim("own-time-end", "own-time", "By the same reading NERS ends above RANDOM (no difference expected)", "-",
          ROOM.all("ners environment", ">", "random", of=("own-time",)), kind="own"),
    Claim("own-hopper-end", "own-hopper", "Our prediction: on Hopper, after 300,000 steps, NERS ends where RANDOM does "
          f"{LIKE}, with SAC and with TD3", "-", ROOM.all("ners", "==", "random", of=("own-hopper",)), kind="own"),
    Claim("own-hopper-area", "own-hopper", "Our prediction: the same over all of training", "-",
          ROOM.all("ners", "==", "random", of=("own-hopper",), by=THROUGHOUT), kind="own"),
    Claim("own-law-ners", "own-distance", "Our prediction: among transitions that were replayed NERS's sampling law "
          f"ends within {law.UNIFORM:.0%} total variation of uniform, {OF_TASKS}", "-",
          ROOM.most(law.near("ners"), of=EVERYWHERE), kind="own"),
    Claim("own-law-new", "own-distance", "Our prediction: more than half of the distance of NERS's sampling law from "
          f"uniform is the bonus for transitions that were never replayed, {OF_TASKS}", "-",
          ROOM.most("ners", ">", law.MOSTLY, of=EVERYWHERE, by=Score(law.of_the_bonus, show=number)), kind="own"),
    Claim("own-law-per", "own-distance", "Our prediction: PER's sampling law ends further from uniform than NERS's, "
          f"{OF_TASKS}", "-", ROOM.most("per", ">", "ners", of=EVERYWHERE, by=Score(late("tv"))), kind="own"),
    Claim("own-td3-lr", "own-td3-lr", "Our prediction: TD3 with RANDOM ends higher with a learning rate of 1e-3 than "
          "with the 5e-3 that the paper prints, on each task (on Hopper by other seeds than the two that chose the "
          "rate)", "5e-3", ROOM.all(lower_rate_is_better, of=("own-td3-lr",)), kind="own"),
], headline=HEADLINE, full=FULL_ONLY)  # fmt: skip
"""Every claim with its check."""
