"""Figures that the paper does not have: what its results, and ours at a smaller budget, leave open."""

from __future__ import annotations

from pathlib import Path

from lab.plotting import legend, save
from lab.results import Results
from papers.ref_er.evidence.figures_panels import (
    BAND,
    HOW,
    IMPLIED,
    KL,
    RETURN,
    Data,
    cut_below,
    draw_implied,
    draw_largest,
    panel,
)


def own_kl(results: Results, scale: str, out: Path) -> None:
    """Not in the paper's figures: Rule 2 with the paper's divergence, and with that of the authors' program."""
    data = Data(results, "own-kl", scale)
    names = {
        "vracer refer": "penalty KL(μ‖π), the paper's",
        "vracer refer (reverse KL)": "penalty KL(π‖μ), the authors' program's",
    }
    note = f"{HOW}; shaded in returns: {BAND}; {IMPLIED}"
    title = "own experiment: direction of Rule 2's divergence, V-RACER"
    canvas, axes = data.canvas(1, 3 * len(data.shown), title, note)
    for i, env in enumerate(data.shown):
        of_return, of_kl, of_std = axes[0, 3 * i : 3 * i + 3]
        panel(of_return, data, env, "return", RETURN, banded=data.methods, names=names)
        cut_below(of_return)
        panel(of_kl, data, env, "kl", KL, log=True, names=names)
        draw_implied(of_kl, data, env)
        panel(of_std, data, env, "std", "mean σ", names=names)
        if of_std.lines:
            of_std.set_ylim(0, None)
    legend(canvas)
    save(canvas, out)


def own_memory(results: Results, scale: str, out: Path) -> None:
    """Does the divergence of DDPG with plain replay come near its maximum, as in Fig. 2, once the memory is larger?"""
    data = Data(results, "own-memory", scale)
    title = "own experiment: memory and divergence, DDPG with plain replay"
    canvas, axes = data.canvas(1, 2 * len(data.shown), title, f"{HOW}; shaded in returns: {BAND}")
    for i, env in enumerate(data.shown):
        of_kl, of_return = axes[0, 2 * i : 2 * i + 2]
        panel(of_kl, data, env, "kl", KL, log=True)
        draw_largest(of_kl, env)
        panel(of_return, data, env, "return", RETURN, banded=data.methods)
        cut_below(of_return)
    legend(canvas)
    save(canvas, out)


def own_annealing(results: Results, scale: str, out: Path) -> None:
    """Returns of DDPG and divergences of V-RACER and PPO, with the learning rate annealed and constant."""
    data = Data(results, "own-annealing", scale)
    title = "own experiment: annealing, DDPG and PPO"
    canvas, axes = data.canvas(1, 2 * len(data.shown), title, f"{HOW}; A = 0: constant learning rate and c_max")
    ddpg = [method for method in data.methods if method.startswith("ddpg")]
    others = [method for method in data.methods if method not in ddpg]
    for i, env in enumerate(data.shown):
        of_return, of_kl = axes[0, 2 * i : 2 * i + 2]
        panel(of_return, data, env, "return", RETURN, only=ddpg)
        cut_below(of_return)
        panel(of_kl, data, env, "kl", KL, log=True, only=others)
    legend(canvas)
    save(canvas, out)


def own_million(results: Results, scale: str, out: Path) -> None:
    """V-RACER with the paper's memory, warm-up and annealing; the paper's own curve is in its Fig. 4, a picture."""
    data = Data(results, "own-million", scale)
    note = f"{HOW}; shaded in returns: {BAND}; {IMPLIED}; the paper's curve is in its Fig. 4, in a picture only"
    title = "own experiment: V-RACER with the paper's settings, up to a million steps"
    canvas, axes = data.canvas(1, 2 * len(data.shown), title, note)
    for i, env in enumerate(data.shown):
        of_return, of_kl = axes[0, 2 * i : 2 * i + 2]
        panel(of_return, data, env, "return", RETURN, banded=data.methods)
        cut_below(of_return)
        panel(of_kl, data, env, "kl", KL, log=True)
        draw_implied(of_kl, data, env)
    legend(canvas)
    save(canvas, out)


def own_segments(results: Results, scale: str, out: Path) -> None:
    """ACER with the full protocol's segments beside the short ones that it has at quick in Fig. 4."""
    data = Data(results, f"own-segments+{FIG4}", scale)
    names = {"acer (lr 1e-05)": "segments of 10 steps", "acer (segments of 200)": "segments of 200 steps"}
    envs = [env for env in data.shown if ("acer (segments of 200)", env) in {(m, e) for m, e, _ in data.wanted}]
    canvas, axes = data.canvas(1, 2 * len(envs), "own experiment: ACER's segments", HOW)
    for i, env in enumerate(envs):
        of_return, of_kl = axes[0, 2 * i : 2 * i + 2]
        panel(of_return, data, env, "return", RETURN, only=names, names=names)
        cut_below(of_return)
        panel(of_kl, data, env, "kl", KL, log=True, only=names, names=names)
    legend(canvas)
    save(canvas, out)
