"""What Section 3.2.1 says about bit flipping with a useless action, as checks against exact values.

The paper runs nothing on this task and says that HER "may" do so: the claims are ours. A run's bias is Q - Q* of that
action in costs of a step, averaged over pairs of bits and goal. It is judged in both readings of the action
(envs/bitflip.py), at the end of training unless said otherwise. Methods are compared seed by seed: they see the same
starts and begin with one network.
"""

from dataclasses import replace

from lab.judge.claims import Claim
from lab.judge.comparisons import Place, Runs, Score, area, last
from lab.judge.results import Results
from lab.judge.verdicts import Verdict
from papers.bias_reduced_her.evidence.claims_runs import OTHER
from papers.bias_reduced_her.evidence.labels import PLAIN, READINGS

TIMEOUT = "BitFlip-10-timeout"
LAST = 5
"""Evaluations whose mean is the end of training."""
MARGIN = 0.4
"""Largest bias that counts as none: half of 0.98^9 = 0.83, the least by which giving up, where it is useless, is worse
than the best flip. Fixed before Filtered-HER was run on this task."""
SELDOM = 0.05
"""Share of pairs up to which an agent does not give up."""
SOLVED, FAILED = 0.9, 0.1
"""Success rates of plain bit flipping from which it counts as solved, and up to which as not learned at all."""
FLIPS = replace(
    OTHER,
    score=Score(last("quit_bias", LAST)),
    steps=lambda runs, sides: int(runs.frame["step"].max()),
    places=lambda experiment, scale: [Place(reading, experiment, env) for env, reading in READINGS.items()],
    rows=lambda frame: frame,
)


def her_is_biased(results: Results) -> Verdict:
    """HER's mean bias is above MARGIN. The note has that of the flips, which shows what is due to slow learning."""
    verdict, runs = FLIPS.all("her", ">", MARGIN, of="bitflip")(results), FLIPS.runs(results, "bitflip")
    flips = [f"{runs.last('flip_bias', 'her', env, LAST).mean():+.2g}" for env in READINGS]
    verdict.note += f". Bias of the flips: {' and '.join(flips)}"
    return verdict


def filtered_is_not(runs: Runs, env: str) -> Verdict:
    """Filtered-HER's mean bias is within MARGIN of 0 where HER's is above it; else there is no bias to remove."""
    verdict = runs.compare("filtered-her", "==", 0, env, margin=MARGIN)
    if runs.compare("her", ">", MARGIN, env).status != "reproduced":
        verdict.status, verdict.p, verdict.note = "inconclusive", None, "HER is not biased: nothing to remove"
    return verdict


CLAIMS = [
    Claim(
        "bitflip-her", "bitflip", f"HER over-estimates the useless action (by more than {MARGIN} steps)",
        "biased upward, no number", her_is_biased, kind="own",
    ),
    Claim(
        "bitflip-filtered", "bitflip", "Where HER over-estimates the useless action, Filtered-HER does not (within "
        f"{MARGIN} steps)", "bias removed", FLIPS.all(filtered_is_not, of="bitflip"), kind="own",
    ),
    Claim(
        "bitflip-filter", "bitflip", "The filter lowers the estimate of the useless action", "lower",
        FLIPS.all("her", ">", "filtered-her", of="bitflip"), kind="own",
    ),
    Claim(
        "own-bitflip-near", "bitflip", "Where a single bit is wrong, the filter lowers the estimate of the useless "
        "action (mean over training)", "-",
        FLIPS.all("her", ">", "filtered-her", of="bitflip", by=Score(area("quit_bias_near"))), kind="own",
    ),
    Claim(
        "bitflip-gives-up", "bitflip", f"HER prefers the useless action (in more than {100 * SELDOM:g} % of states)",
        "may assume that it is desired",
        FLIPS.all(
            "her", ">", SELDOM, of="bitflip", on=TIMEOUT,  # where it is useless
            by=Score(last("quits", LAST), note=lambda *_: "share of pairs of bits and goal"),
        ), kind="own",
    ),
    Claim(
        "own-bitflip-plain", "bitflip", f"HER solves plain 10-bit flipping (success above {SOLVED}), and without "
        f"hindsight nothing is learned (below {FAILED})", "-",
        FLIPS.all(
            {"HER": ("her", ">", SOLVED), "no hindsight": ("none", "<", FAILED)}, of="bitflip", on=PLAIN,
            by=Score(last("success", LAST)),
        ), kind="own",
    ),
]  # fmt: skip
