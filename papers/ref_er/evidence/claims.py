"""All claims of the paper that runs can check, figure by figure; the checks are in the files named below.

claims_runs.py says what a score is and what sizes words stand for. DDPG and NAF are in claims_ddpg.py, V-RACER, PPO and
ACER in claims_vracer.py, the flow-control task in claims_flow.py, hyper-parameters in claims_sensitivity.py, our own
experiments in claims_own.py. Our own, among them predictions from the share of far samples, are marked so.

At `quick`, runs have 200,000 steps and a memory of 16,384 instead of 10 million and 262,144. What the paper says about
the end of training is then judged at the end of these runs, which is where the annealing has come as far (A times steps
is 5) but learning need not have.

Left out: "competitive with the best published results", for which the paper gives no number.
"""

from lab.judge.claims import planned_from
from papers.ref_er.evidence import claims_ddpg, claims_flow, claims_own, claims_sensitivity, claims_vracer

FULL_ONLY = ("fig1-bang-bang", "fig2-level", "fig7-f-humanoid")
"""About tasks, or a length, that quick leaves out."""
HEADLINE = ("fig1-refer", "fig3-refer", "fig4-er", "fig6-best")
"""The abstract: ReF-ER, coupled with deterministic policy gradient, Q-learning and off-policy gradient, "consistently
improves the performance" on "fully observable benchmarks and partially observable flow control problems"."""
SUMMARY = {
    "At `quick` ({fig3-refer.steps:,} steps instead of 10 million, {fig3-refer.seeds} seeds) ReF-ER ends above "
    "plain replay in most tasks run with NAF and V-RACER; with DDPG it does so on Walker2d and is undecided on "
    "two others.":
        {"reproduced": ["fig3-refer", "fig4-er"], "partly": ["fig1-refer"]},
    "V-RACER with ReF-ER ends above PPO in most tasks, but on HalfCheetah below ACER, which ran with shorter "
    "segments than the paper's.":
        {"reproduced": ["fig4-ppo"], "not reproduced": ["fig4-best"]},
    "Flow control is open: no method learns it in {fig6-best.steps:,} actions on a coarse grid ({fig6-best.seeds} "
    "seeds).":
        {"inconclusive": ["fig6-best"]},
}  # fmt: skip
"""The claims in three sentences, each with the verdicts that it rests on."""
CLAIMS = planned_from([
    *claims_ddpg.CLAIMS,
    *claims_vracer.CLAIMS,
    *claims_flow.CLAIMS,
    *claims_sensitivity.CLAIMS,
    *claims_own.CLAIMS,
], headline=HEADLINE, full=FULL_ONLY)  # fmt: skip
