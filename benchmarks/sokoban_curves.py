"""Stable-Baselines3's DQN on Sokoban with uniform replay and with TER: picture and table of adapters/README.md.

    .venv/bin/python -m benchmarks.sokoban_curves

Reads adapters/sokoban_sb3.csv, to which the runs of adapters/sokoban_sb3.py append.
"""

from pathlib import Path

import pandas as pd

from benchmarks.rows import aligned
from lab.judge.colours import OWN_METHOD, UNIFORM
from lab.judge.intervals import Estimate, difference, mean_of
from lab.judge.plotting import curves, legend, new_figure, save

FOLDER = Path(__file__).resolve().parents[1] / "adapters"
COLUMNS = ["settings", "method", "seed", "step", "success"]
BEGIN, END = "<!-- sokoban:begin -->\n\n", "\n<!-- sokoban:end -->"
TITLES = {"defaults": "at the defaults", "often": "a gradient step per step"}
LABELS = {"dqn": "DQN", "ter": "DQN with TER"}
STYLES = {"dqn": {"color": UNIFORM, "linestyle": "-"}, "ter": {"color": OWN_METHOD, "linestyle": "-"}}


def read(path: Path) -> pd.DataFrame:
    """The runs, in the order of their settings, methods, seeds and steps. ValueError for one that is there twice."""
    frame = pd.read_csv(path, names=COLUMNS).sort_values(COLUMNS[:4], ignore_index=True)
    if frame.duplicated(COLUMNS[:4]).any():
        raise ValueError(f"{path} has a run twice")
    return frame


def table(frame: pd.DataFrame) -> str:
    """Success of both methods, and the difference: after the last step, and the mean over training."""
    lines = [["settings", "levels solved", *LABELS.values(), "difference"]]
    last = frame["step"].max()
    for what, of in ((f"after {last:,} steps", frame[frame["step"] == last]), ("mean over training", frame)):
        means = of.groupby(["settings", "method", "seed"])["success"].mean()
        pairs = {TITLES[name]: (name, name) for name in TITLES if name in means}
        pairs |= {"each where it does best": ("defaults", "often")} if len(pairs) == 2 else {}
        for title, (first, second) in pairs.items():
            dqn, ter = means[first, "dqn"], means[second, "ter"]
            lines.append([title, what, said(mean_of(dqn)), said(mean_of(ter)), said(difference(ter, dqn), "+")])
    return aligned(lines)


def said(estimate: Estimate, sign: str = "") -> str:
    """An estimate with its 95 % interval, as shares of two digits."""
    low, high = estimate.interval()
    return f"{estimate.value:{sign}.2f} [{low:{sign}.2f}, {high:{sign}.2f}]"


def draw(frame: pd.DataFrame, picture: Path) -> None:
    """A panel for each of the settings."""
    panels = list(frame.groupby("settings", sort=False))
    seeds = max(rows["seed"].nunique() for _, rows in panels)
    note = f"Sokoban 5x5-1: mean and SD over {seeds} seeds, single seeds thin; share of 100 levels, never trained on"
    canvas, axes = new_figure(1, len(panels), "Stable-Baselines3's DQN and TER", caption=note, size=(3.8, 2.8))
    for ax, (name, rows) in zip(axes[0], panels):
        rows = rows.rename(columns={"success": "value"}).assign(env="5x5-1", metric="success")
        curves(ax, rows, "success", kind="mean-sd", order=list(LABELS), labels=LABELS, styles=STYLES, ylabel="solved")
        ax.set_title(TITLES[str(name)])
        ax.set_ylim(0, 1)
    legend(canvas)
    save(canvas, picture)


def with_table(page: str, frame: pd.DataFrame) -> str:
    """The page with the table between its marks."""
    before, after = page[: page.index(BEGIN) + len(BEGIN)], page[page.index(END) :]
    return before + table(frame) + "\n" + after


if __name__ == "__main__":
    runs, page = read(FOLDER / "sokoban_sb3.csv"), FOLDER / "README.md"
    runs.to_csv(FOLDER / "sokoban_sb3.csv", header=False, index=False, float_format="%.2f")
    draw(runs, FOLDER / "sokoban_sb3.png")
    page.write_text(with_table(page.read_text(), runs))
