"""The figure of bit flipping, drawn from the results of tiny runs."""

import numpy as np
import pytest

from lab.collecting import collect
from lab.results import Results, matrix
from papers.bias_reduced_her.bitflip import main
from papers.bias_reduced_her.evidence import figures_bitflip
from papers.bias_reduced_her.evidence.experiments import EXPERIMENTS
from papers.bias_reduced_her.evidence.figures import styles
from papers.bias_reduced_her.evidence.figures_bitflip import (
    BIASES,
    LABELS,
    PLAIN,
    READINGS,
    STYLES,
    bitflip,
)
from papers.bias_reduced_her.evidence.labels import NAMES


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Of the smoke scale, as a sweep leaves them."""
    root = tmp_path_factory.mktemp("runs")
    for entry in EXPERIMENTS["bitflip"]("smoke"):
        main(entry.config, entry.run_dir(root))
    collect("bitflip", "smoke", EXPERIMENTS["bitflip"]("smoke"), root, root / "results", own=True)
    return Results(root / "results")


@pytest.fixture
def canvases(monkeypatch):
    """What a test draws, instead of files."""
    drawn = []
    monkeypatch.setattr(figures_bitflip, "save", lambda canvas, path: drawn.append(canvas))
    return drawn


def line(ax, method):
    [found] = [line for line in ax.lines if line.get_label() == LABELS[method]]
    return found.get_xdata(), found.get_ydata()


def test_every_panel_shows_its_metric(results, canvases):
    bitflip(results, "smoke", None)
    axes = np.array(canvases[0].axes).reshape(3, 3)
    frame = results.at("bitflip", "smoke")
    for row, env in zip(axes, READINGS):
        for method in ("her", "filtered-her"):
            for ax, metric in zip(row, BIASES):
                steps, values = matrix(frame, metric, method, env)
                np.testing.assert_array_equal(line(ax, method), [steps, values[0]])
            at_end = [matrix(frame, f"quit_bias {d}", method, env)[1][0, 0] for d in range(1, 11)]
            np.testing.assert_array_equal(line(row[2], method), [range(1, 11), at_end])
        assert all(any(np.array_equal(line.get_ydata(), [0, 0]) for line in ax.lines) for ax in row)
    for ax, env in zip(axes[2], [*READINGS, PLAIN]):
        assert ax.get_ylim() == (-0.03, 1.03)
        for method in ("none" if env == PLAIN else "filtered-her", "her"):
            np.testing.assert_array_equal(line(ax, method)[1], matrix(frame, "success", method, env)[1][0])


def test_methods_look_as_in_the_other_figures():
    for method in set(STYLES) & set(NAMES):
        assert STYLES[method] == styles([method])[method] and LABELS[method] == NAMES[method]
