"""Fig. L.14, from made-up results."""

import matplotlib.pyplot as plt
import pytest

from lab.results import Results
from papers.ter.evidence import figures_dreamer
from tests.papers.ter.evidence.test_claims_dreamer import verdicts


@pytest.mark.parametrize("scale", ["quick", "full"])
def test_returns_over_steps_and_over_time(scale, tmp_path, monkeypatch):
    verdicts(tmp_path, lambda method, env: 0.9, scale=scale)
    drawn = []
    monkeypatch.setattr(figures_dreamer, "save", lambda canvas, path: drawn.append(canvas))
    figures_dreamer.fig_l14(Results(tmp_path), scale, tmp_path / "out.png")
    top, bottom = drawn[0].axes[:1], drawn[0].axes[len(drawn[0].axes) // 2 :]
    assert top[0].get_xlabel() == "environment steps" and bottom[0].get_xlabel() == "hours of one core"
    on_minigrid = scale == "full"
    assert len(bottom[0].lines) == 2 + on_minigrid  # DreamerV2, and TER as printed and, there, as released
    assert bottom[0].lines[0].get_xdata().max() == pytest.approx(1.9)
    plt.close("all")
