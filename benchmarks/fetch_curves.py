"""HER on the Fetch tasks beside Stable-Baselines3's, in the protocol that HER was published with.

    make bench-fetch                                      # both tasks, three seeds of each: what is not there yet
    .venv/bin/python -m benchmarks.fetch_curves --env FetchReach --seeds 0,1

Every finished run is added to benchmarks/fetch_curves.csv and not repeated; the picture (.png) and the page with the
means (.md) beside it are drawn from that file. Two processes may share the work if their seeds differ.
"""

import contextlib
import io
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import process_time
from typing import Annotated, Any

import numpy as np
import pandas as pd
from tyro.conf import arg

from benchmarks.fetch_reach import register
from benchmarks.ners_curves import library, said
from benchmarks.rows import aligned
from envs import fetch
from lab.judge.colours import BLUE, GREEN, VERMILLION
from lab.judge.intervals import difference, mean_of
from lab.judge.plotting import curves, legend, new_figure, save
from lab.options import read_seeds
from lab.rooms import choose
from lab.run.arguments import parse
from lab.run.errors import UserError, guard
from lab.run.threads import one_thread
from papers.bias_reduced_her.train_fetch import Config, Trainer

BUDGETS = {"FetchReach": (32_000, 1_600), "FetchPush": (1_000_000, 40_000)}
"""Environment steps, and how many lie between two evaluations."""
SEEDS, TESTS, LAST = range(3), 50, 5
"""Of each task; episodes of an evaluation; evaluations at the end of a run that are its final success."""
LENGTH = 50
"""Steps of an episode."""
OURS, PLAIN, PEER = "ours", "ours without penalty", "Stable-Baselines3"
"""The second differs from the peer in details alone, see `PAGE`."""
LOOKS = {OURS: BLUE, PLAIN: GREEN, PEER: VERMILLION}
RUN = ["env", "method", "seed"]
COLUMNS = [*RUN, "step", "solved"]
CSV = Path("benchmarks/fetch_curves.csv")
PAGE = """# HER beside Stable-Baselines3's

Written by `make bench-fetch`; do not edit. Ours is [train_fetch.py](../papers/bias_reduced_her/train_fetch.py), the
peer DDPG with HerReplayBuffer; numbers in [{csv}]({csv}). Success is that of {tests} greedy
episodes, at their last step and without those that begin at their goal, measured by the same code.

{table}

Means over runs with 95 % intervals (Student's, of the difference Welch's). Seeds mean other numbers in both, so that
means are compared and not pairs.

![curves]({picture})

Equal are networks, step size, batch, discount, memory, noise, 4 `future` goals per transition, running scales of the
inputs, clipped at 5, and the order of things: 16 episodes, then 40 gradient steps. Not equal:

| | ours, as HER's authors | Stable-Baselines3 |
|---|---|---|
| penalty on actions | 1 x mean square; *without penalty*: none | none |
| targets | clipped to [-50, 0] | not clipped |
| exploration | 0.3 uniform actions, else noise | noise alone |
| target networks | move by 0.05 after every 40 gradient steps | by 0.0013 after each: as far in 40 |
| virtual goals | drawn when an episode is stored | drawn whenever it is replayed |
| inputs | observation, desired goal | and the achieved goal |
| first weights | Glorot's, biases 0 | PyTorch's |

Stable-Baselines3 has no settings for these. Ours is also run without the penalty, which leaves matters of detail: on
FetchReach it is the penalty that sets the curves apart.
"""

Act = Callable[[dict[str, np.ndarray]], np.ndarray]
"""What n episodes observe -> greedy actions [n, 4]."""


@dataclass(frozen=True)
class Options:
    """HER on the Fetch tasks beside Stable-Baselines3's: train what is missing, then draw."""

    env: str = ""
    """FetchReach or FetchPush; default: both."""
    seeds: str = ""
    """3: seeds 0 to 2, the default; 3,7: these."""
    csv: Annotated[Path, arg(metavar="FILE.csv")] = CSV
    """Where the numbers are; picture and page lie beside it."""


@guard
def main(argv: Sequence[str] | None = None) -> None:
    """Train the runs that are not in the file, one after another, and draw all that are."""
    options = parse(Options, argv, prog=".venv/bin/python -m benchmarks.fetch_curves")
    envs = [choose("env", options.env, BUDGETS)] if options.env else [*BUDGETS]
    seeds = read_seeds(options.seeds) or tuple(SEEDS)
    sb3 = library("fetch_curves")
    register()
    one_thread()
    done = read(options.csv).groupby(RUN).groups
    for env in envs:
        for seed in seeds:
            for name in LOOKS:
                if (env, name, seed) not in done:
                    append(options.csv, trained(env, name, seed, learner(sb3, env, name, seed)))
    frame = read(options.csv)
    draw(frame, options.csv.with_suffix(".png"))
    options.csv.with_suffix(".md").write_text(page(frame, options.csv))
    print(f"written: {options.csv}, and beside it .png and .md")


# ---- the file --------------------------------------------------------------------------------------------------------


def read(path: Path) -> pd.DataFrame:
    """The runs in the file, in order; none where there is no file. UserError for other columns, and for a run that is
    there twice or in part."""
    if not path.exists():
        return pd.DataFrame(columns=COLUMNS)
    try:
        frame = pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {path}: {str(error).splitlines()[0]}") from None
    if frame.columns.to_list() != COLUMNS:
        raise UserError(f"{path} has not the columns {', '.join(COLUMNS)}; restore or remove it")
    for (env, method, seed), run in frame.groupby(RUN):
        steps, every = BUDGETS[choose(f"env in {path}", env, BUDGETS)]
        if run["step"].to_list() != [*range(every, steps + 1, every)]:
            raise UserError(f"{path} has not every step of {env}, {method}, seed {seed} once; remove these lines")
    return frame.sort_values([*RUN, "step"], ignore_index=True)


def append(path: Path, rows: pd.DataFrame) -> None:
    """Add the rows to the file in one go."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(rows.to_csv(index=False, header=file.tell() == 0))


# ---- training --------------------------------------------------------------------------------------------------------


def learner(sb3: Any, env: str, name: str, seed: int) -> Iterator[tuple[int, Act]]:
    """The learner of this name, which trains as it is iterated."""
    if name == PEER:
        return theirs(sb3, env, seed)
    return ours(settings(env, seed) if name == OURS else replace(settings(env, seed), action_penalty=0.0))


def trained(env: str, name: str, seed: int, learner: Iterator[tuple[int, Act]]) -> pd.DataFrame:
    """The rows of a run: success after every so many steps."""
    tests, rows, begin = fetch.FetchVector(fetch.make(f"{env}-v4"), TESTS), [], process_time()
    for step, act in learner:
        rows.append((env, name, seed, step, round(solved(tests, act, seed, step), 4)))
        used = process_time() - begin
        print(f"{env}, {name}, seed {seed}: {step:9,} steps, solved {rows[-1][-1]:.2f} ({used:.0f} s)", flush=True)
    return pd.DataFrame(rows, columns=COLUMNS)


def settings(env: str, seed: int) -> Config:
    """Settings of all learners. The memory has room for all transitions."""
    c = Config(env=env, seed=seed)
    return replace(c, capacity=(1 + c.k) * BUDGETS[env][0])


def ours(config: Config) -> Iterator[tuple[int, Act]]:
    """Train ours; after as many steps as `BUDGETS` says, yield the number of steps and the greedy policy."""
    with contextlib.redirect_stdout(io.StringIO()):  # the size of its memory
        trainer = Trainer(config)
    agent, inputs, (steps, every) = trainer.agent, trainer.inputs, BUDGETS[config.env]
    while trainer.steps_done < steps:
        trainer.cycle()
        if trainer.steps_done % every == 0:
            yield trainer.steps_done, lambda seen: agent.act(inputs(seen["observation"], seen["desired_goal"]))


def theirs(sb3: Any, env: str, seed: int) -> Iterator[tuple[int, Act]]:
    """The same for the peer."""
    steps, every = BUDGETS[env]
    agent = peer(sb3, settings(env, seed), steps)
    scaled = agent.get_vec_normalize_env().normalize_obs
    for step in range(every, steps + 1, every):
        agent.learn(every, reset_num_timesteps=False, log_interval=None)  # None: no log
        yield step, lambda seen: agent.predict(scaled(seen), deterministic=True)[0]


def peer(sb3: Any, c: Config, capacity: int) -> Any:
    """Stable-Baselines3's DDPG with its HerReplayBuffer for `capacity` real transitions, and our settings."""
    from stable_baselines3.common.noise import NormalActionNoise, VectorizedActionNoise
    from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

    envs = DummyVecEnv([lambda: fetch.make(f"{c.env}-v4")] * c.episodes)
    noise = NormalActionNoise(np.zeros(4), np.full(4, 2 * c.noise))  # of the range, from -1 to 1
    return sb3.DDPG(
        "MultiInputPolicy", VecNormalize(envs, norm_reward=False, clip_obs=5.0, epsilon=1e-4), learning_rate=c.lr,
        gamma=c.gamma, tau=1 - (1 - c.tau) ** (1 / c.updates), batch_size=c.batch_size, buffer_size=capacity,
        learning_starts=0, train_freq=(LENGTH, "step"), gradient_steps=c.updates,
        action_noise=VectorizedActionNoise(noise, c.episodes), replay_buffer_class=sb3.HerReplayBuffer,
        replay_buffer_kwargs={"n_sampled_goal": c.k, "goal_selection_strategy": "future", "copy_info_dict": False},
        policy_kwargs={"net_arch": [256, 256, 256], "optimizer_kwargs": {"fused": True}}, seed=c.seed, device="cpu",
    )  # fmt: skip


def solved(tests: fetch.FetchVector, act: Act, seed: int, step: int) -> float:
    """Success at the last step, of episodes that do not begin at their goal. Their starts depend on seed and step."""
    starts = np.random.default_rng([seed, step]).integers(2**31, size=tests.num_envs)
    seen, info = tests.reset(seed=(2 * starts + 1).tolist())  # ours trains on even ones
    began, over = info["is_success"] == 1, np.zeros(1, bool)
    while not over.all():
        seen, _, _, over, info = tests.step(act(seen))
    return float((info["is_success"][~began] == 1).mean()) if not began.all() else 0.0


# ---- page and picture ------------------------------------------------------------------------------------------------


def page(frame: pd.DataFrame, csv: Path) -> str:
    """Markdown with the success of all, over training and at the end, and the difference of those that are alike."""
    lines = [["task", "success", *LOOKS, "difference of the last two", "runs of each"]]
    for env in [env for env in BUDGETS if env in set(frame["env"])]:
        rows, (steps, every) = frame[frame["env"] == env], BUDGETS[env]
        late = rows[rows["step"] > steps - LAST * every]
        for what, some in ((f"over {steps:,} steps", rows), (f"in the last {LAST * every:,}", late)):
            runs = some.groupby(["method", "seed"])["solved"].mean()
            values = [runs[name].to_numpy() if name in runs else np.array([]) for name in LOOKS]
            means = [said(mean_of(v)) if len(v) > 1 else f"{v[0]:.3g}" if len(v) else "not run" for v in values]
            alike = values[1:]
            apart = said(difference(*alike), "+") if min(map(len, alike)) > 1 else ""
            lines.append([env, what, *means, apart, ", ".join(str(len(value)) for value in values)])
    picture = csv.with_suffix(".png").name
    return PAGE.format(csv=csv.name, tests=TESTS, table=aligned(lines), picture=picture)


def draw(frame: pd.DataFrame, picture: Path) -> None:
    """Draw all curves, a panel for each task."""
    seeds = frame.groupby(RUN[:2])["seed"].nunique()
    runs = f"{seeds.min()} to {seeds.max()}" if seeds.nunique() > 1 else f"{seeds.max()}"
    note = f"HER's own protocol; success of {TESTS} greedy episodes that do not begin at their goal; mean and SD of "
    canvas, axes = new_figure(
        1, len(BUDGETS), "HER beside Stable-Baselines3's", caption=f"{note}{runs} runs, single runs thin",
        size=(3.6, 2.8),
    )  # fmt: skip
    styles = {name: {"color": colour, "linestyle": "-"} for name, colour in LOOKS.items()}
    for ax, env in zip(axes[0], BUDGETS):
        rows = frame[frame["env"] == env].rename(columns={"solved": "value"}).assign(metric="solved")
        curves(ax, rows, "solved", kind="mean-sd", order=list(LOOKS), styles=styles, ylabel="success")
        ax.set_title(env)
        if len(rows):
            ax.set_ylim(0, 1)
    legend(canvas)
    save(canvas, picture)


if __name__ == "__main__":
    main(sys.argv[1:])
