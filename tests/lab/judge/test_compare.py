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


def compare_two(tmp_path, *options):
    assert main(["compare", str(tmp_path / "a"), str(tmp_path / "b"), "--out", str(tmp_path / "x.png"), *options]) == 0


def test_what_was_measured_once_is_no_curve_unless_it_is_named(tmp_path, panels, capsys):
    for name in "ab":
        run = write(tmp_path, name, 0, metrics=("score", "loss", "kl"))
        with (run / "metrics.csv").open("a") as file:
            file.writelines(f"20,final {i},1,0.1\n" for i in range(3))
    compare_two(tmp_path)
    assert panels == ["score", "loss", "kl"] and "left out: 3 other metrics" in capsys.readouterr().out
    panels.clear()
    compare_two(tmp_path, "--metrics", "final 1, score,score")
    assert panels == ["final 1", "score"]


def test_what_one_side_has_measured_once_is_left_out(tmp_path, panels):
    write(tmp_path, "a", 0, metrics=("score", "loss"))
    run = write(tmp_path, "b", 0, metrics=("score",))
    with (run / "metrics.csv").open("a") as file:
        file.write("20,loss,1,0.1\n")
    compare_two(tmp_path)
    assert panels == ["score"]


def test_where_all_was_measured_once_all_is_drawn(tmp_path, panels, capsys):
    for name in "ab":
        write(tmp_path, name, 0, metrics=("score", "loss"), steps=(10,))
    compare_two(tmp_path)
    assert panels == ["score", "loss"] and "left out" not in capsys.readouterr().out


@pytest.mark.parametrize("metrics", ["other", "score,other", "", "score,"])
def test_a_metric_that_not_both_have_costs_one_line(runs, capsys, metrics):
    with pytest.raises(SystemExit) as stop:
        main(["compare", f"{runs}/a", f"{runs}/b", "--out", str(runs / "x.png"), "--metrics", metrics])
    err = capsys.readouterr().err
    assert stop.value.code == 2 and err.count("\n") == 1 and "right are: score, loss" in err, err
    assert not (runs / "x.png").exists()


def test_a_run_alone_or_with_its_other_seeds(runs):
    [first, *_] = sorted(runs.glob("a-s0-*"))
    write(runs, "a", 1, lr=0.9)
    assert read_side(str(first)).seeds == [0]
    side = read_side(str(first), all_seeds=True)
    assert side.seeds == [0, 1, 2] and side.config["lr"] == 0.1, "the run with another rate is left out"
    assert sorted(side.frame[side.frame["metric"] == "score"]["value"]) == [10, 11, 12, 20, 21, 22]


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
        (None, "c", ["is no run", "a directory below runs/"]),
        (None, "", ["is no run"]),
        (no_metrics, "a", ["no metrics yet"]),
        (damaged_metrics, "a", ["metrics.csv", "cannot be read"]),
        (damaged_config, "a", ["config.json", "cannot be read"]),
        (two_settings, "a", ["different settings: lr is", "--all-seeds"]),
        (nothing_in_common, "a", ["no metric in common"]),
    ],
)
def test_mistakes_cost_one_line(runs, capsys, change, a, words):
    if change:
        change(runs)
    with pytest.raises(SystemExit) as stop:
        main(["compare", f"{runs}/{a}" if a else "", f"{runs}/b", "--out", str(runs / "picture.png")])
    err = capsys.readouterr().err
    assert stop.value.code == 2 and err.count("\n") == 1 and all(word in err for word in words), err
    assert not (runs / "picture.png").exists()
