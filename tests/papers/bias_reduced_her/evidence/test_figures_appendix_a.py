"""The figure of Appendix A, drawn from the results of tiny runs."""

import numpy as np
import pandas as pd
import pytest

from lab.collecting import collect
from lab.results import Results
from papers.bias_reduced_her.appendix_a import main
from papers.bias_reduced_her.evidence import figures_appendix_a
from papers.bias_reduced_her.evidence.experiments import EXPERIMENTS
from papers.bias_reduced_her.evidence.figures_appendix_a import appendix_a
from papers.bias_reduced_her.evidence.labels import SMALL_FLOOR


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Of the smoke scale, as a sweep leaves them."""
    root = tmp_path_factory.mktemp("runs")
    for entry in EXPERIMENTS["appendix-a"]("smoke"):
        main(entry.config, entry.run_dir(root))
    collect("appendix-a", "smoke", EXPERIMENTS["appendix-a"]("smoke"), root, root / "results", own=True)
    return Results(root / "results")


@pytest.fixture
def canvases(monkeypatch):
    """What a test draws, instead of files."""
    drawn = []
    monkeypatch.setattr(figures_appendix_a, "save", lambda canvas, path: drawn.append(canvas))
    return drawn


def test_lines_are_the_medians_of_the_results(results, tmp_path, canvases):
    appendix_a(results, "smoke", tmp_path / "a.png")
    frame = results.at("appendix-a", "smoke")

    def median(metric, method, env):
        rows = frame[(frame["metric"] == metric) & (frame["method"] == method) & (frame["env"] == env)]
        return rows.groupby("step")["value"].median()

    def line(panel, label):
        [found] = [line for line in canvases[0].axes[panel].lines if line.get_label() == label]
        return pd.Series(found.get_ydata(), found.get_xdata())

    for panel, label, key in [
        (1, "uniform samples", ("error", "monte-carlo", "mixture, sigma^2 = 0.04")),
        (1, "importance sampling", ("error", "importance-sampling", "mixture, sigma^2 = 0.04")),
        (3, "EM, $\\sigma^2$ = 2", ("error", "em", "mixture, sigma^2 = 2")),
        (4, "HER", ("kl", "her", "moving goals, sigma^2 = 0.2")),
        (5, "HER with IBS, floor 1e-6", ("kl", SMALL_FLOOR, "moving goals, sigma^2 = 0.04")),
    ]:
        drawn, expected = line(panel, label), median(*key)
        assert list(drawn.index) == list(expected.index)
        np.testing.assert_allclose(drawn, expected)


def test_measured_variances_lie_on_the_lines_of_the_formula(results, tmp_path, canvases):
    """The smoke runs have 100 samples, hence the tolerance."""
    appendix_a(results, "smoke", tmp_path / "a.png")
    panel = canvases[0].axes[2]
    formula = {line.get_color(): line for line in panel.lines if len(line.get_xdata()) > 2}
    assert len(panel.containers) == 6
    for bars in panel.containers:
        x, y = (float(part[0]) for part in bars.lines[0].get_data())
        line = formula[bars.lines[0].get_color()]
        assert np.log(y / np.interp(np.log(x), np.log(line.get_xdata()), line.get_ydata())) == pytest.approx(0, abs=0.7)
