"""The figure of Appendix A, drawn from the results of tiny runs."""

import numpy as np
import pytest

from lab.judge.collecting import collect
from lab.judge.results import Results
from papers.bias_reduced_her.evidence.experiments import EXPERIMENTS
from papers.bias_reduced_her.evidence.figures import FIGURES
from papers.bias_reduced_her.worlds.appendix_a import main
from tests.papers.drawn import draw


def test_measured_variances_lie_on_the_lines_of_the_formula(tmp_path):
    """The smoke runs have 100 samples, hence the tolerance."""
    for entry in EXPERIMENTS["appendix-a"]("smoke"):
        main(entry.config, entry.run_dir(tmp_path))
    collect("appendix-a", "smoke", EXPERIMENTS["appendix-a"]("smoke"), tmp_path, tmp_path / "results", own=True)
    panel = draw(FIGURES["appendix-a"], Results(tmp_path / "results")).axes[2]
    formula = {line.get_color(): line for line in panel.lines if len(line.get_xdata()) > 2}
    assert len(panel.containers) == 6
    for bars in panel.containers:
        x, y = (float(part[0]) for part in bars.lines[0].get_data())
        line = formula[bars.lines[0].get_color()]
        assert np.log(y / np.interp(np.log(x), np.log(line.get_xdata()), line.get_ydata())) == pytest.approx(0, abs=0.7)
