"""Validate the flow of envs/wake/flow.py: cases with known answers, on several grids.

    .venv/bin/python -m benchmarks.wake_validation [--cells 16 32] [--courant 0.4] [--out benchmarks/wake_validation]

Writes a table (.md) and a picture (.png); about 5 minutes at 16 and 32 cells per diameter. The cases:

- the benchmark "DFG 2D-2" (Schaefer and Turek 1996): a cylinder in a channel with friction at its walls, Re 100;
- a cylinder at Re 100 in a wide stream;
- the D-section cylinder of the swimmer's task, which has no reference: its grids must agree;
- the swimmer's ellipse, pushed in fluid at rest: its acceleration beside that with inviscid theory's added mass.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.rows import aligned, number
from envs.wake.bodies import Ellipse, Obstacle, disc, half_disc
from envs.wake.flow import HALF_AXES, KICK, PLACE, WakeFlow, new_flow, pass_by
from envs.wake.solver import COURANT, Flow
from lab.judge.plotting import legend, new_figure, save
from lab.run.errors import UserError, guard
from lab.run.threads import one_thread

OUT = Path("benchmarks/wake_validation")
CHANNEL, WIDE = (14.0, 4.1), (24, 16)
"""Length and width of the two Re-100 cases, in diameters. DFG's channel is 22 long; ours lacks its far end."""
DURATION, SETTLED = {"channel": 60.0, "wide": 130.0, "half disc": 80.0}, 0.6
"""Duration of a case in D / U, and the share of it after which measurement begins."""
REFERENCES = {
    "DFG 2D-2: Strouhal number": (0.295, 0.305),
    "DFG 2D-2: largest drag coefficient": (3.22, 3.24),
    "DFG 2D-2: largest lift coefficient": (0.99, 1.01),
    "cylinder, Re 100: Strouhal number": (0.164, 0.167),
    "cylinder, Re 100: mean drag coefficient": (1.33, 1.36),
}
"""Ranges in the literature; for the cylinder, in an unbounded stream."""


class Forces(NamedTuple):
    """Coefficients of an obstacle, [steps] each."""

    time: np.ndarray
    drag: np.ndarray
    lift: np.ndarray

    def settled(self) -> Forces:
        late = self.time > SETTLED * self.time[-1]
        return Forces(*(values[late] for values in self))


def strouhal(forces: Forces) -> float:
    """Periods per unit of time: counts the lift's upward crossings of its mean, one per excursion far below it.

    UserError if there are none.
    """
    lift = forces.lift - forces.lift.mean()
    upward = np.flatnonzero((lift[:-1] < 0) & (lift[1:] >= 0))
    lows = np.flatnonzero(lift < -0.5 * lift.std())
    _, first = np.unique(np.searchsorted(lows, upward), return_index=True)
    up = upward[first]
    if len(up) < 2:
        raise UserError("no vortices are shed: use a longer case or a larger Reynolds number")
    share = lift[up] / (lift[up] - lift[up + 1])
    passages = forces.time[up] + share * (forces.time[up + 1] - forces.time[up])
    return float((len(up) - 1) / (passages[-1] - passages[0]))


def shed(flow: Flow, obstacle: Obstacle, duration: float) -> Forces:
    """Simulate vortex shedding after a kick behind the obstacle; coefficients are for U = D = 1."""
    i, j = round((obstacle.place[0] + 0.7) / flow.h), round(obstacle.place[1] / flow.h)
    n = round(0.25 / flow.h)
    flow.v[j - n : j + n, i : i + 2 * n] = KICK
    time, drag, lift = np.array(pass_by(flow, obstacle, duration)).T
    return Forces(time, 2 * drag, 2 * lift)


def channel(cells: int, courant: float) -> Forces:
    """DFG 2D-2: parabolic inflow with a mean of 1, friction at the walls; coefficients are for that mean."""
    width = CHANNEL[1]
    ny = round(width * cells)
    h = width / ny
    y = (np.arange(ny) + 0.5) * h
    inflow = 6.0 * y * (width - y) / width**2
    flow = Flow((round(CHANNEL[0] / h), ny), h, 1 / 100, inflow, friction=True, courant=courant)
    return shed(flow, Obstacle(flow, disc, (2.0, 2.0)), DURATION["channel"])


def wide(cells: int, courant: float) -> Forces:
    """A cylinder in a stream 16 times as wide, without friction at its edges."""
    flow = Flow((WIDE[0] * cells, WIDE[1] * cells), 1.0 / cells, 1 / 100, courant=courant)
    return shed(flow, Obstacle(flow, disc, (7.0, WIDE[1] / 2)), DURATION["wide"])


def d_section(cells: int, courant: float, reynolds: float) -> tuple[Forces, Flow]:
    """The flow of the swimmer's task, without the swimmer."""
    flow = new_flow(cells, reynolds, courant)
    return shed(flow, Obstacle(flow, half_disc, PLACE), DURATION["half disc"]), flow


def acceleration(cells: int, axis: int) -> float:
    """Mean acceleration over 0.05 time units by a unit force along x or y or a unit torque, as a share of theory's.

    Added masses are those of an ellipse in an inviscid fluid (Lamb 1932, Art. 71); our fluid also has friction.
    """
    a, b = HALF_AXES
    area, n, duration = math.pi * a * b, 8, 0.05
    added = math.pi * b * b, math.pi * a * a, math.pi / 8 * (a * a - b * b) ** 2
    own = area, area, area * (a * a + b * b) / 4
    flow = Flow((4 * cells, 4 * cells), 1.0 / cells, 1 / 400, 0.0)
    body = Ellipse(flow, HALF_AXES, (2.0, 2.0), 0.0)
    for _ in range(n):
        flow.predict(duration / n)
        body.float(flow, np.eye(3)[axis])
        flow.project()
    return float(body.velocity[axis] / duration * (own[axis] + added[axis]))


def measured(cells: int, courant: float, reynolds: float) -> tuple[dict[str, float], dict[str, Forces], Flow]:
    """All numbers of a grid, the forces of each case, and the D-section's last flow."""
    section, flow = d_section(cells, courant, reynolds)
    forces = {"channel": channel(cells, courant), "wide": wide(cells, courant), "half disc": section}
    late = {name: values.settled() for name, values in forces.items()}
    numbers = {
        "DFG 2D-2: Strouhal number": strouhal(late["channel"]),
        "DFG 2D-2: largest drag coefficient": float(late["channel"].drag.max()),
        "DFG 2D-2: largest lift coefficient": float(late["channel"].lift.max()),
        "cylinder, Re 100: Strouhal number": strouhal(late["wide"]),
        "cylinder, Re 100: mean drag coefficient": float(late["wide"].drag.mean()),
        f"D-section, Re {reynolds:g}: Strouhal number": strouhal(late["half disc"]),
        f"D-section, Re {reynolds:g}: mean drag coefficient": float(late["half disc"].drag.mean()),
        "ellipse: acceleration along its length, of theory's": acceleration(cells, 0),
        "ellipse: acceleration across, of theory's": acceleration(cells, 1),
        "ellipse: angular acceleration, of theory's": acceleration(cells, 2),
    }
    return numbers, forces, flow


def off(value: float, reference: tuple[float, float]) -> str:
    """Distance from the range's nearer end: "in range", "+3.1 %"."""
    low, high = reference
    if low <= value <= high:
        return "in range"
    return f"{value / (low if value < low else high) - 1:+.1%}".replace("%", " %")


def page(numbers: dict[int, dict[str, float]], courant: float) -> str:
    """The page, with the table, as Markdown."""
    grids = list(numbers)
    lines = [["quantity", "literature", *(f"D/{cells}" for cells in grids)]]
    for what in numbers[grids[0]]:
        reference = REFERENCES.get(what)
        cells = [number(numbers[grid][what]) for grid in grids]
        if reference:
            cells = [f"{text} ({off(numbers[grid][what], reference)})" for grid, text in zip(grids, cells)]
        lines.append([what, f"{reference[0]:g} to {reference[1]:g}" if reference else "-", *cells])
    return f"""# The swimmer's flow beside what is known

Written by `.venv/bin/python -m benchmarks.wake_validation`; do not edit. D/16 has 16 cells per diameter. Courant number
{courant:g}. Percentages are off the nearer end of the range.

{aligned(lines)}

The literature's cylinder at Re 100 stands in an unbounded stream, ours in one 16 diameters wide, which makes the flow
past it faster by about a sixteenth. The ellipse's theory has no friction, which takes some of the acceleration along
its length; the rest is missing because cells that it covers in part are carried along. The D-section fills a quarter of
its channel: its Strouhal number is above the 0.2 or so of an unbounded stream.

![forces and vorticity](wake_validation.png)
"""


def draw(forces: dict[int, dict[str, Forces]], flow: Flow, out: Path) -> None:
    """Draw drag and lift in the last 10 time units of each case, and the D-section's vorticity on the finest grid."""
    canvas, axes = new_figure(
        2, 2, "The swimmer's flow: drag (above) and lift coefficients, and vorticity", size=(4.2, 2.7)
    )
    titles = {"channel": "DFG 2D-2", "wide": "cylinder, Re 100", "half disc": "D-section"}
    for ax, (name, title) in zip(axes.flat, titles.items()):
        for (cells, cases), style in zip(forces.items(), ("--", "-", ":", "-.")):
            case = cases[name]
            late = case.time > case.time[-1] - 10
            time = case.time[late] - case.time[late][0]
            for values, colour in ((case.drag, "#0072B2"), (case.lift, "#D55E00")):
                label = f"D/{cells}" if colour == "#0072B2" else None
                ax.plot(time, values[late], style, color=colour, linewidth=1.2, label=label)
        known = {
            "channel": REFERENCES["DFG 2D-2: largest drag coefficient"],
            "wide": REFERENCES["cylinder, Re 100: mean drag coefficient"],
        }
        if name in known:
            ax.axhspan(*known[name], color="0.6", label="literature")
        ax.set(title=title, xlabel="time, D/U")
    ax = axes.flat[3]
    extent = (0.0, flow.cells[0] * flow.h, 0.0, flow.cells[1] * flow.h)
    ax.imshow(flow.vorticity(), cmap="RdBu_r", vmin=-12, vmax=12, origin="lower", extent=extent)
    ax.set(title=f"vorticity, D/{max(forces)}", xlabel="x, D", ylabel="y, D")
    ax.grid(False)
    legend(canvas)
    save(canvas, out)


@guard
def main(arguments: Sequence[str]) -> None:
    """Measure, and write table and picture."""
    parser = argparse.ArgumentParser(prog="benchmarks.wake_validation", description="The swimmer's flow, validated.")
    parser.add_argument(
        "--cells", type=int, nargs="+", default=[16, 32], help="per diameter; several grids are compared"
    )
    parser.add_argument("--reynolds", type=float, default=400.0, help="of the D-section; the task's is 400")
    parser.add_argument("--courant", type=float, default=COURANT, help="time step times largest velocity over h")
    parser.add_argument("--out", type=Path, default=OUT, help="path of table and picture, without an ending")
    options = parser.parse_args(arguments)
    one_thread()
    numbers, forces = {}, {}
    for cells in options.cells:
        try:
            WakeFlow(cells=cells, reynolds=options.reynolds, courant=options.courant)
        except ValueError as error:
            raise UserError(str(error)) from None
    for cells in options.cells:
        numbers[cells], forces[cells], flow = measured(cells, options.courant, options.reynolds)
        for what, value in numbers[cells].items():
            print(f"D/{cells}  {what}: {number(value)}", flush=True)
    options.out.with_suffix(".md").write_text(page(numbers, options.courant))
    draw(forces, flow, options.out.with_suffix(".png"))
    print(f"written: {options.out}.md and .png")


if __name__ == "__main__":
    main(sys.argv[1:])
