"""What the figures draw, looked at instead of saved."""

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from lab.judge import plotting
from lab.judge.plotting import Figure
from lab.judge.results import Results


def draw(figure: Figure, results: Results | None = None, scale: str = "smoke") -> Canvas:
    """The canvas of a figure, of which nothing is written."""
    drawn: list[Canvas] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Canvas, "savefig", lambda self, *args, **settings: drawn.append(self))
        patch.setattr(plotting, "write_if_changed", lambda path, data: False)
        figure.draw(results, scale, "nowhere.png")
    return drawn[0]


def curve(ax: Axes, name: str) -> np.ndarray:
    """Points [n, 2] of the line of this name."""
    [line] = [line for line in ax.lines if line.get_label() == name]
    return np.asarray(line.get_xydata())


def named(ax: Axes) -> set[str]:
    """What the legend would name."""
    return set(ax.get_legend_handles_labels()[1])


def words(ax: Axes) -> list[str]:
    """Texts in a panel."""
    return [text.get_text() for text in ax.texts]


def caption(canvas: Canvas) -> str:
    """What stands below the figure, in one line."""
    [text] = canvas.subfigs[1].texts
    return " ".join(text.get_text().split())


def cells(canvas: Canvas) -> dict[tuple[str, str], tuple[str, str]]:
    """(first cell of the row, header) -> (text, weight) of a drawn table."""
    found = canvas.axes[0].tables[0].get_celld()
    text = {place: cell.get_text().get_text() for place, cell in found.items()}
    return {
        (text[row, 0], " ".join(text[0, column].split())): (text[row, column], cell.get_text().get_weight())
        for (row, column), cell in found.items()
        if row and column
    }
