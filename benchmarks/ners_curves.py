"""Learning curves of our SAC and TD3 beside Stable-Baselines3's, with equal settings, on Hopper-v5.

    .venv/bin/python -m benchmarks.ners_curves [PICTURE]

Trains 3 seeds of each for 30,000 steps, draws the curves in one picture (benchmarks/ners_curves.png), and writes the
numbers (.csv) and a page with the means (.md) beside it. About 40 minutes; not part of `make bench`, which only times.
"""

import contextlib
import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from torch import nn

from benchmarks.rows import aligned
from lab.judge.colours import BLUE, VERMILLION
from lab.judge.intervals import Estimate, difference, mean_of, number
from lab.judge.plotting import curves, legend, new_figure, save
from lab.run.errors import UserError, guard
from lab.run.threads import one_thread
from papers.ners import train
from papers.ners.agents.sac import LR as SAC_LR
from papers.ners.agents.tasks import make_env
from papers.ners.agents.td3 import LR as TD3_LR

ENV = "Hopper-v5"
AGENTS = {"sac": "SAC", "td3": "TD3"}
SEEDS = range(3)
STEPS, EVERY, STARTS = 30_000, 2_000, 10
PICTURE = Path("benchmarks/ners_curves.png")
OURS, PEER = "ours", "Stable-Baselines3"
LOOKS = {OURS: BLUE, PEER: VERMILLION}
LAST = 5
"""A run's final score is the mean of this many measurements at its end."""
PAGE = """# SAC and TD3 beside Stable-Baselines3's

Written by `.venv/bin/python -m benchmarks.ners_curves`; do not edit. {env}, {steps:,} steps, {seeds} seeds of each;
numbers in [{csv}]({csv}).

Equal are networks, batch, step sizes, discount, memory, random steps, noise, one gradient step per environment step,
uniform and independent draws, bootstrapping at time limits, and the {starts} starts from which scores are measured,
without noise. One thing differs: our target networks of TD3 follow after every gradient step, as the NERS paper has it,
the peer's after every second. Seeds mean other numbers there, so that means are compared and not pairs.

{table}

Means over seeds, with 95 % intervals (Student's, of the difference Welch's). So few seeds show whether one of the two
learns and the other does not, not small differences.

![curves]({picture})
"""

Policy = Callable[[np.ndarray], np.ndarray]
"""State -> action without noise."""


@guard
def main(arguments: list[str]) -> None:
    """Train all learners and draw their curves."""
    if len(arguments) > 1:
        raise UserError(f"give at most one picture, not {' '.join(arguments)!r}")
    picture = Path(arguments[0]) if arguments else PICTURE
    peers = library()
    one_thread()
    rows = []
    for agent in AGENTS:
        for seed in SEEDS:
            for name, learner in ((OURS, ours(agent, seed)), (PEER, theirs(peers, agent, seed))):
                for step, policy in learner:
                    rows.append((ENV, name, agent, seed, step, "score", score(policy)))
                    print(f"{AGENTS[agent]} {name}, seed {seed}: {step:6,} steps, {rows[-1][-1]:7.1f}", flush=True)
    frame = pd.DataFrame(rows, columns=["env", "method", "agent", "seed", "step", "metric", "value"])
    picture.parent.mkdir(parents=True, exist_ok=True)
    frame.to_csv(picture.with_suffix(".csv"), index=False)
    draw(frame, picture)
    picture.with_suffix(".md").write_text(page(frame, picture.name))
    print(f"written: {picture}, and beside it .csv and .md")


def library(script: str = "ners_curves") -> Any:
    """Stable-Baselines3, or a UserError that says how to install it for this script."""
    try:
        with contextlib.redirect_stderr(io.StringIO()):  # gym, if installed, announces its successor
            import stable_baselines3
    except ImportError as error:
        missing = error.name or "stable_baselines3"
        raise UserError(f"{script} needs {missing}: .venv/bin/pip install --group bench") from None
    return stable_baselines3


def settings(agent: str, seed: int) -> train.Config:
    """Settings of both learners: the room's defaults, with independent draws."""
    return train.Config(ENV, "random-iid", agent, seed, STEPS, capacity=STEPS)


def ours(agent: str, seed: int) -> Iterator[tuple[int, Policy]]:
    """Train ours; after every EVERY steps, yield the number of steps and the policy."""
    with contextlib.redirect_stdout(io.StringIO()):  # the size of its memory
        trainer = train.Trainer(settings(agent, seed))
    while trainer.t < STEPS:
        train.turn(trainer, evaluate=False)
        if trainer.t % EVERY == 0:
            yield trainer.t, trainer.agent.act


def theirs(sb3: Any, agent: str, seed: int) -> Iterator[tuple[int, Policy]]:
    """The same for the peer."""
    c, env = settings(agent, seed), make_env(ENV)
    actions: Any = env.action_space
    still = np.zeros(actions.shape)
    algorithms: dict[str, tuple[Any, dict[str, Any]]] = {
        "sac": (sb3.SAC, {"learning_rate": SAC_LR}),
        "td3": (sb3.TD3, {
            "learning_rate": TD3_LR, "policy_delay": c.policy_delay, "target_policy_noise": c.target_noise,
            "target_noise_clip": c.noise_clip,
            "action_noise": sb3.common.noise.NormalActionNoise(still, still + c.action_noise),
        }),
    }  # fmt: skip
    algorithm, special = algorithms[agent]
    peer = algorithm(
        "MlpPolicy", env, buffer_size=c.capacity, learning_starts=c.random_steps, batch_size=c.batch_size, tau=c.tau,
        gamma=c.gamma, train_freq=1, gradient_steps=1, seed=seed, device="cpu",
        policy_kwargs={"net_arch": [256, 256], "activation_fn": nn.ReLU, "optimizer_kwargs": {"fused": True}},
        **special,
    )  # fmt: skip
    for step in range(EVERY, STEPS + 1, EVERY):
        peer.learn(EVERY, reset_num_timesteps=False, log_interval=None)  # None: no log
        yield step, lambda state: peer.predict(state, deterministic=True)[0]


def score(policy: Policy) -> float:
    """Mean return of a policy from STARTS fixed starts."""
    env, totals = make_env(ENV), []
    for start in range(STARTS):
        state, total, over = env.reset(seed=start)[0], 0.0, False
        while not over:
            state, reward, terminated, truncated, _ = env.step(policy(np.asarray(state, np.float32)))
            total, over = total + float(reward), terminated or truncated
        totals.append(total)
    return float(np.mean(totals))


def page(frame: pd.DataFrame, picture: str) -> str:
    """Markdown with final scores, scores over all of training, and differences. picture: name of its file."""
    steps = np.sort(frame["step"].unique())
    lines = [["agent", "mean return", *LOOKS, "difference"]]
    for agent, title in AGENTS.items():
        for what, of in (("all of training", steps), (f"from {steps[-LAST:][0]:,} steps on", steps[-LAST:])):
            rows = frame[(frame["agent"] == agent) & frame["step"].isin(of)]
            runs = rows.groupby(["method", "seed"])["value"].mean()
            means = [said(mean_of(runs[name])) for name in LOOKS]
            lines.append([title, what, *means, said(difference(runs[OURS], runs[PEER]), "+")])
    csv = Path(picture).with_suffix(".csv").name
    return PAGE.format(
        env=ENV, steps=steps[-1], seeds=frame["seed"].nunique(), starts=STARTS, table=aligned(lines), csv=csv,
        picture=picture,
    )  # fmt: skip


def said(estimate: Estimate, sign: str = "") -> str:
    """Format an estimate with its interval."""
    low, high = estimate.interval()
    return f"{number(estimate.value, sign)} [{number(low, sign)}, {number(high, sign)}]"


def draw(frame: pd.DataFrame, picture: Path) -> None:
    """Draw the curves of both, one panel per agent."""
    note = (
        f"{ENV}: mean and SD over {frame['seed'].nunique()} seeds, single seeds thin; uniform replay, equal settings; "
        f"scores: {STARTS} fixed starts without noise"
    )
    canvas, axes = new_figure(1, len(AGENTS), "SAC and TD3 beside Stable-Baselines3's", caption=note, size=(3.6, 2.8))
    styles = {name: {"color": colour, "linestyle": "-"} for name, colour in LOOKS.items()}
    for ax, (agent, title) in zip(axes[0], AGENTS.items()):
        rows = frame[frame["agent"] == agent]
        curves(ax, rows, "score", kind="mean-sd", order=list(LOOKS), styles=styles, ylabel="mean return")
        ax.set_title(title)
    legend(canvas)
    save(canvas, picture)


if __name__ == "__main__":
    main(sys.argv[1:])
