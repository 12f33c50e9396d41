"""What this paper's figures compute before they draw, from made-up results. test_evidence.py redraws all of them."""

import numpy as np
import pandas as pd
import pytest

from lab.judge.results import COLUMNS, Results
from papers.bias_reduced_her.evidence.drawing import Data, styles
from papers.bias_reduced_her.evidence.experiments import EXPERIMENTS
from papers.bias_reduced_her.evidence.figures import FIGURES, heat_map
from papers.bias_reduced_her.evidence.figures_bitflip import by_distance
from papers.bias_reduced_her.evidence.labels import BOOTSTRAPPED, CONTROLS, NAMES, TABLE_2, TRAINING, with_bias
from papers.bias_reduced_her.worlds.tasks import TASKS
from tests.papers.bias_reduced_her.evidence.synthetic import write
from tests.papers.drawn import cells, curve, draw, named, words
from tests.papers.judged import save


def level(method, env):
    return dict(zip([*NAMES, *CONTROLS], (0.1, 0.2, 0.5, 0.7, 0.3, 0.0)))[method.split()[0]]


def test_curves_are_medians_and_bands_percentiles(tmp_path):
    write(tmp_path, TRAINING, "quick", level, spread=lambda method, env: 0.1)
    frame = Results(tmp_path).at(TRAINING, "quick")
    rows = frame[(frame["method"] == "her") & (frame["env"] == "Hand") & (frame["metric"] == "distance")]
    runs = rows.pivot(index="seed", columns="step", values="value").to_numpy()
    ax = draw(FIGURES["fig3"], Results(tmp_path), "quick").axes[3]
    np.testing.assert_allclose(curve(ax, "HER")[:, 1], np.median(runs, axis=0))
    corners = ax.collections[0].get_paths()[0].vertices
    np.testing.assert_allclose(corners[:, 1].max(), np.percentile(runs, 67, axis=0).max())


def test_with_bias_adds_rows_and_changes_none():
    keys = [("e", "s", "m", "Hand", seed, step) for seed in (0, 1) for step in (10, 20)]
    values = {"q_estimate": [-10.0, -20.0, -5.0, -1.0], "return": [-50.0, -20.0, 0.0, -2.0], "kl": [1.0, 2.0, 3.0, 4.0]}
    rows = [(*key, name, value, 0.1) for name in values for key, value in zip(keys, values[name])]
    frame = pd.DataFrame(rows, columns=COLUMNS)
    more = with_bias(frame)
    same = more[more["metric"] != "bias"].astype(frame.dtypes).reset_index(drop=True)
    pd.testing.assert_frame_equal(same, frame)
    bias = more[more["metric"] == "bias"].sort_values(["seed", "step"])
    assert bias["value"].tolist() == [40, 0, -5, 1] and bias["step"].tolist() == [10, 20, 10, 20]


def test_the_heat_map_is_the_mean_over_runs(tmp_path):
    write(tmp_path, TRAINING, "quick", level, seeds=3)
    path = tmp_path / "quick" / "training-robot.csv"
    frame = pd.read_csv(path)
    here = (frame["method"] == "her") & (frame["env"] == "Robot")
    for seed, share in {0: 0.2, 1: 0.4, 2: 0.6}.items():
        mine = here & (frame["seed"] == seed)
        frame.loc[mine & (frame["metric"] == "virtual 2 0"), "value"] = share
        frame.loc[mine & (frame["metric"] == "virtual 7 3"), "value"] = 1 - share
    frame.loc[here & (frame["seed"] == 2) & (frame["metric"] == "virtual 7 3"), "metric"] = "virtual 9 9"
    frame.to_csv(path, index=False)
    found = heat_map(Data(Results(tmp_path), TRAINING, "quick"), "her", "Robot", 10)
    expected = np.zeros((10, 10))
    expected[2, 0], expected[7, 3], expected[9, 9] = 0.4, (0.8 + 0.6) / 3, 0.4 / 3
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_table_2_holds_the_papers_numbers_and_ours(tmp_path):
    write(tmp_path, TRAINING, "quick", level, kl=lambda method, env: len(method), keep=lambda m, *_: m != "her-ibs")
    frame = Results(tmp_path).at(TRAINING, "quick")
    last = frame[(frame["metric"] == "kl") & (frame["step"] == 1600)]
    values = last[(last["method"] == "her") & (last["env"] == "HandWall")]["value"].to_numpy()
    found = cells(draw(FIGURES["table2"], Results(tmp_path), "quick"))
    assert found["HandWall", "HER paper"][0] == f"{TABLE_2['HandWall'][0]:.2f}"
    assert found["HandWall", "HER ours"][0] == f"{values.mean():.2f} ± {np.std(values, ddof=1):.2f}"
    assert found["HandWall", "HER-IBS ours"][0] == "not run"


@pytest.mark.parametrize("experiment", [TRAINING, "own-grid", "own-her", "own-penalty", "own-goals"])
def test_a_method_keeps_its_colour_and_no_two_look_the_same(experiment):
    methods = list(dict.fromkeys(entry.method for name in experiment.split("+") for entry in EXPERIMENTS[name]("full")))
    found, base = styles(methods), styles([*NAMES, *CONTROLS])
    assert len({tuple(style.values()) for style in found.values()}) == len(methods)
    assert all(style["color"] == base[method.split()[0]]["color"] for method, style in found.items())


def test_where_the_value_is_over_estimated(tmp_path):
    """A task without runs says so."""
    for task in ("hand", "robot"):
        write(tmp_path, f"training-{task}+controls-{task}", "full", level, bias=lambda method, env: len(env))
    axes = np.array(draw(FIGURES["own-estimates"], Results(tmp_path), "full").axes).reshape(2, 3)
    for column, env in zip(axes.T, TASKS):
        assert [words(ax) for ax in column] == [["not run"] if env == "HandWall" else []] * 2
        dots = [container.lines[0].get_ydata()[0] for container in column[0].containers]
        assert dots == pytest.approx([len(env)] * (0 if env == "HandWall" else 2 * len([*NAMES, *CONTROLS])), rel=0.01)
        for solid, dotted in zip(column[1].lines[::2], column[1].lines[1::2]):
            np.testing.assert_allclose(solid.get_ydata() - dotted.get_ydata(), len(env), rtol=0.01)


def test_runs_of_fig3_stand_beside_those_of_a_variant(tmp_path):
    """Where there are none, the variant is drawn alone."""
    variant = {"HER-IBS (20 x 20, sigma^2)", "Filtered-HER-IBS (20 x 20, sigma^2)"}
    write(tmp_path, "own-grid", "smoke", level)
    assert named(draw(FIGURES["own-grid"], Results(tmp_path)).axes[0]) == variant
    write(tmp_path, TRAINING, "smoke", level)
    assert named(draw(FIGURES["own-grid"], Results(tmp_path)).axes[0]) == variant | {"HER-IBS", "Filtered-HER-IBS"}


def test_fig3_has_rows_for_the_readings_that_were_run(tmp_path):
    """At quick; and where one of them has no runs, which it is stands at the axis."""
    write(tmp_path, BOOTSTRAPPED, "quick", level)
    said = [ax.get_ylabel() for ax in draw(FIGURES["fig3"], Results(tmp_path), "quick").axes[::3]]
    assert said == [f"{metric}\nvirtual success: bootstrapped" for metric in ("success rate", "distance to goal")]
    write(tmp_path, TRAINING, "quick", level)
    assert len(draw(FIGURES["fig3"], Results(tmp_path), "quick").axes) == 12


def test_bias_of_bit_flipping_by_distance(tmp_path):
    run = EXPERIMENTS["bitflip"]("smoke")[0]
    numbers = {"quit_bias": 9.0, "quit_bias 1": 2.0, "quit_bias 10": 3.0, "success": 1.0}
    rows = [("bitflip", "smoke", run.method, run.env, run.seed, 900, *item, 0.1) for item in numbers.items()]
    save(tmp_path, rows)
    data = Data(Results(tmp_path), "bitflip", "smoke")
    found = by_distance(data).frame
    assert found[["metric", "step", "value"]].to_numpy().tolist() == [["quit_bias", 1, 2.0], ["quit_bias", 10, 3.0]]
    assert len(data.frame) == 4
