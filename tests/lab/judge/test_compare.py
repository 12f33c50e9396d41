"""lab/judge/compare.py, on runs that are written by hand."""

import json

import pytest

from lab.__main__ import main
from lab.judge import compare
from lab.judge.compare import differences, read_side


def write(root, name, seed, lr=0.1, metrics=("score",), steps=(10, 20), **extra):
    directory = root / f"{name}-s{seed}-{abs(hash((name, seed, lr))) % 10**10:010x}"
    directory.mkdir(parents=True)
    config = {"method": name, "seed": seed, "lr": lr, "replay": {"size": 5}, **extra}
    (directory / "config.json").write_text(json.dumps({"config": config}))
    rows = [f"{step},{metric},{seed + step},0.1" for step in steps for metric in metrics]
    (directory / "metrics.csv").write_text("\n".join(["step,metric,value,hours", *rows, ""]))
    return directory


@pytest.fixture
def runs(tmp_path):
    for seed in range(3):
        write(tmp_path, "a", seed, metrics=("score", "loss"))
        write(tmp_path, "b", seed, lr=0.2, metrics=("loss", "score", "other"), replay={"size": 7})
    return tmp_path


def test_it_says_what_differs_and_draws_what_both_have(runs, capsys):
    out = runs / "picture.png"
    assert main(["compare", f"{runs}/a", f"{runs}/b-s*", "--out", str(out)]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert rows[1:4] == [["method", "a", "b"], ["lr", "0.1", "0.2"], ["replay.size", "5", "7"]]
    assert rows[4] == ["seeds", *"0, 1, 2 0, 1, 2".split()]
    assert out.read_bytes().startswith(b"\x89PNG")


@pytest.fixture
def panels(monkeypatch):
    """The titles of the axes that compare draws."""
    drawn = []
    monkeypatch.setattr(compare, "curves", lambda ax, frame, metric, **_: drawn.append(metric))
    monkeypatch.setattr(compare, "legend", lambda canvas: None)
    return drawn


def compare_two(tmp_path, *options, two="ab"):
    first, second = (str(tmp_path / name) for name in two)
    assert main(["compare", first, second, "--out", str(tmp_path / "x.png"), *options]) == 0


def test_what_one_side_has_measured_once_is_no_curve_unless_it_is_named(tmp_path, panels, capsys):
    for name, steps in (("a", [20, 30]), ("b", [20])):
        run = write(tmp_path, name, 0, metrics=("score", "loss"))
        with (run / "metrics.csv").open("a") as file:
            file.writelines(f"{step},final {i},1,0.1\n" for i in range(3) for step in steps)
    compare_two(tmp_path)
    assert panels == ["score", "loss"] and "left out: 3 other metrics" in capsys.readouterr().out
    panels.clear()
    compare_two(tmp_path, "--metrics", "final 1, score,score")
    assert panels == ["final 1", "score"]
    for name in "cd":
        write(tmp_path, name, 0, metrics=("score", "loss"), steps=(10,))
    panels.clear()
    capsys.readouterr()
    compare_two(tmp_path, two="cd")
    assert panels == ["score", "loss"] and "left out" not in capsys.readouterr().out, "all, where all was measured once"


@pytest.mark.parametrize("metrics", ["other", "score,other", "", "score,"])
def test_a_metric_that_not_both_have_costs_one_line(runs, one_line, metrics):
    command = ["compare", f"{runs}/a", f"{runs}/b", "--out", str(runs / "x.png"), "--metrics", metrics]
    assert "choose from: score, loss" in one_line(main, command)
    assert not (runs / "x.png").exists()


def test_a_run_that_is_still_writing_is_read_up_to_its_last_whole_line(runs):
    [run] = runs.glob("a-s0-*")
    with (run / "metrics.csv").open("a") as file:
        file.write("30,score,3")
    assert read_side(str(run)).frame["step"].max() == 20


def test_differences_name_what_only_one_has():
    assert differences({"x": 1, "y": 2}, {"x": 1, "z": 3}) == [("y", 2, "-"), ("z", "-", 3)]


def no_metrics(runs):
    (next(runs.glob("a-s0-*")) / "metrics.csv").write_text("step,metric,value,hours\n")


def damaged_metrics(runs):
    (next(runs.glob("a-s0-*")) / "metrics.csv").write_text("step,metric,value,hours\n1,score,much,0\n")


def damaged_config(runs):
    (next(runs.glob("a-s0-*")) / "config.json").write_text("{")


def two_settings(runs):
    write(runs, "a", 0, lr=0.9)


def nothing_in_common(runs):
    for path in runs.glob("b-s*/metrics.csv"):
        path.write_text("step,metric,value,hours\n1,other,1.0,0.1\n")


@pytest.mark.parametrize(
    ("change", "a", "words"),
    [
        (None, "c", ["is not a run", "a directory below runs/"]),
        (None, "", ["is not a run"]),
        (no_metrics, "a", ["no metrics yet"]),
        (damaged_metrics, "a", ["metrics.csv", "cannot be read"]),
        (damaged_config, "a", ["config.json", "cannot be read"]),
        (two_settings, "a", ["different settings: lr is", "name one run"]),
        (nothing_in_common, "a", ["no metric in common"]),
    ],
)
def test_mistakes_cost_one_line(runs, one_line, change, a, words):
    if change:
        change(runs)
    error = one_line(main, ["compare", f"{runs}/{a}" if a else "", f"{runs}/b", "--out", str(runs / "picture.png")])
    assert all(word in error for word in words), error
    assert not (runs / "picture.png").exists()
