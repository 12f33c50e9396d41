"""What all scripts that can be started have in common: their command line, progress bar, TensorBoard files and device.

Scripts are found by their last line. What they learn is tested in their rooms.
"""

import ast
import dataclasses
import functools
import importlib
import inspect
import re
import shlex
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import pytest
import torch

from lab.rooms import House
from lab.run import runs
from lab.run.cli import cli
from lab.run.settings import Range
from tests.papers.runs import assert_refused

ROOT = Path(__file__).resolve().parents[2]
NAMES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in ROOT.glob("papers/**/*.py")
    if "    cli(Config, main, __doc__)\n" in path.read_text()
)
ON_THE_CPU_ALONE = {
    "papers.bias_reduced_her.worlds.appendix_a", "papers.ter.train_nchain",  # no networks
    "papers.ter.evidence.measures.sweeps",
    "papers.ter.evidence.measures.batch_time",  # its network only prepares the batches of EBU
    "papers.bias_reduced_her.train_bitflip", "papers.sibling_rivalry.train_track",  # 64 units, runs of a minute
}  # fmt: skip


@pytest.fixture(params=NAMES)
def script(request):
    return importlib.import_module(request.param)


def command(monkeypatch, script, *arguments: str, main: Any = None) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", str(torch.get_num_threads()))  # which the command line obeys
    monkeypatch.setattr(sys, "argv", ["train", *arguments])
    cli(script.Config, main or script.main, script.__doc__)


def fields(kind: type) -> list[tuple[str, type]]:
    """Options of a dataclass and the class that has each; those of a dataclass in a field in its place."""
    types, found = get_type_hints(kind), []
    for field in dataclasses.fields(kind):
        nested = dataclasses.is_dataclass(types[field.name])
        found += fields(types[field.name]) if nested else [(field.name, kind)]
    return found


def explained(kind: type) -> set[str]:
    """Fields of a dataclass, inherited ones too, with a docstring right below."""
    found = set()
    for base in kind.__mro__[:-1]:
        body = ast.parse(inspect.getsource(base)).body[0].body  # type: ignore[attr-defined]
        for line, below in pairwise(body):
            if isinstance(line, ast.AnnAssign) and isinstance(below, ast.Expr):
                found.add(line.target.id)  # type: ignore[union-attr]
    return found


# ---- command line ----------------------------------------------------------------------------------------------------


def test_all_scripts_are_found():
    assert len(NAMES) >= 17 and {name.split(".")[1] for name in NAMES} == set(House().papers())


def test_help_lists_and_explains_every_option(script, monkeypatch, capsys):
    with pytest.raises(SystemExit) as end:
        command(monkeypatch, script, "--help")
    shown = capsys.readouterr().out
    words = " ".join(shown.replace("│", " ").split())
    assert end.value.code == 0
    for name, kind in fields(script.Config):
        assert re.search(rf"^\W*--{name.replace('_', '-')}[ ,]", shown, re.MULTILINE), name
        assert name in explained(kind), f"{name} has no docstring"
    assert words.count("(default: ") == len(fields(script.Config)) + 4  # and the options of a run


def test_the_example_in_the_docstring_is_a_command(script, monkeypatch, capsys):
    [line] = [line for line in script.__doc__.splitlines() if "python -m" in line]
    program, arguments = shlex.split(line)[:3], shlex.split(line)[3:]
    assert program == [".venv/bin/python", "-m", script.__name__]
    found = {}

    def main(config, run_dir, **_) -> dict:
        found.update(vars(config))
        return {}

    command(monkeypatch, script, *arguments, main=main)
    for option, value in zip(arguments[::2], arguments[1::2]):
        assert str(found[option[2:].replace("-", "_")]) == value


# ---- settings --------------------------------------------------------------------------------------------------------

CHECKED_ELSEWHERE = {
    "seed",  # by Streams
    "k", "sigma_decay", "floor",  # by Hindsight and Instruction
    "c", "tolerance", "annealing", "beta_rate", "beta",  # by ReFER
    "size", "height", "most_blocks", "max_steps",  # by the construction task
}  # fmt: skip


def ranges(kind: type) -> dict[str, list[Any]]:
    """Numbers among the options of a dataclass and the ranges of each; those of a dataclass in a field, too."""
    found: dict[str, list[Any]] = {}
    for name, owner in fields(kind):
        hint = get_type_hints(owner, include_extras=True)[name]
        if {int, float} & {hint, *kinds(hint)}:
            found[name] = [part for part in kinds(hint) if isinstance(part, Range)]
    return found


def kinds(hint: Any) -> list[Any]:
    """All that an annotation of one value is made of."""
    parts = () if get_origin(hint) is tuple else get_args(hint)
    return [hint, *(deeper for part in parts for deeper in kinds(part))]


def test_every_number_has_a_range(script):
    assert {name for name, found in ranges(script.Config).items() if len(found) != 1} <= CHECKED_ELSEWHERE


def test_settings_that_cannot_work_are_refused(script, tmp_path):
    ranged = next(name for name, found in ranges(script.Config).items() if found)
    wrong = [(ranged, -1, f"^{ranged} must [^\n]*, not -1$"), ("seed", -1, "^seed "), ("env", "Nowhere", "Nowhere")]
    if not hasattr(script, "PYTHON"):  # else the memory is another process's
        wrong.append(("capacity", 10**13, "GB are available: choose a smaller replay capacity"))
    for name, value, words in wrong:
        if name in dict(fields(script.Config)):
            assert_refused(script, dataclasses.replace(smallest(script), **{name: value}), words, tmp_path)


# ---- progress and TensorBoard ----------------------------------------------------------------------------------------


class Bar:
    """Stands in for tqdm, and remembers what it was told."""

    def __init__(self, total: int, initial: int, unit: str, dynamic_ncols: bool):
        self.total, self.n, self.unit, self.shown = total, initial, unit, {}
        self.steps: list[int] = []

    def set_postfix(self, shown: dict[str, str], refresh: bool) -> None:
        self.shown = shown

    def update(self, n: int) -> None:
        self.n += n
        self.steps.append(n)

    def close(self) -> None:
        pass


def smoke(script) -> Iterator[Any]:
    """The script's configs of scale smoke."""
    room = ".".join(script.__name__.split(".")[:2])
    experiments = importlib.import_module(f"{room}.evidence.experiments").EXPERIMENTS
    entries = (entry for experiment in experiments.values() for entry in experiment("smoke"))
    return (entry.config for entry in entries if isinstance(entry.config, script.Config))


def smallest(script) -> Any:
    return next(smoke(script))


def short(monkeypatch, script) -> None:
    """Atari games of 25 steps."""
    if hasattr(script, "Atari"):
        monkeypatch.setattr(script, "Atari", functools.partial(script.Atari, max_frames=100))
        monkeypatch.setattr(script, "MAX_FRAMES", 100)
        monkeypatch.setattr(script, "LIMIT", 25, raising=False)
        monkeypatch.setattr(script, "CUT_EVERY", 12)


UNITS = {
    "papers.bias_reduced_her.worlds.appendix_a": "sample", "papers.bias_reduced_her.train_bitflip": "episode",
    "papers.bias_reduced_her.train": "episode", "papers.bias_reduced_her.train_fetch": "episode",
    "papers.sibling_rivalry.train_build": "episode",
    "papers.sibling_rivalry.train_track": "episode", "papers.sibling_rivalry.train": "episode",
    "papers.sibling_rivalry.train_off_policy": "episode",
    "papers.ter.train_nchain": "backup", "papers.ter.evidence.measures.sweeps": "copy",
}  # fmt: skip
"""What a bar counts, where it is not environment steps."""
WITHOUT_LOSSES = {
    "papers.bias_reduced_her.worlds.appendix_a", "papers.ter.train_nchain", "papers.ter.evidence.measures.sweeps",
    "papers.ter.evidence.measures.batch_time", "papers.ners.train_pendulum_draws", "papers.ners.train_scorer",
    "papers.ter.train_dreamer",
}  # fmt: skip
SCORES = {"return", "success", "error", "batch_seconds_mean", "grounded", "tv_replayed"}


def test_a_run_shows_how_far_it_is_and_its_score_also_in_tensorboard(script, monkeypatch, tmp_path, capsys):
    if script.__name__ == "papers.ter.train_dreamer":
        pytest.skip("its learner has an environment of its own; see tests/papers/ter/test_train_dreamer.py")
    bars: list[Bar] = []
    monkeypatch.setattr(runs, "tqdm", lambda **settings: bars.append(Bar(**settings)) or bars[0])
    checked: set[str] = set()
    monkeypatch.setattr(runs.Run, "check_finite", lambda self, step, **losses: checked.update(losses))
    short(monkeypatch, script)
    script.main(smallest(script), tmp_path, tensorboard=True, progress=True)
    [bar] = bars
    assert bar.n == bar.total > 0 and min(bar.steps) >= 0
    assert bar.unit == UNITS.get(script.__name__, "step")
    [score] = bar.shown
    assert score in SCORES and float(bar.shown[score]) == float(bar.shown[score])  # a number, not NaN
    logged = {line.split(",")[1] for line in (tmp_path / "metrics.csv").read_text().splitlines()[1:]}
    assert written(tmp_path / "tensorboard") == logged
    assert {name for name in logged if name.endswith("loss")} <= checked, "a loss that is not finite must end the run"
    assert bool(checked) == (script.__name__ not in WITHOUT_LOSSES)


def written(directory: Path) -> set[str]:
    """Names of the metrics in the event files."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(directory))
    events.Reload()
    return set(events.Tags()["scalars"])


# ---- device ----------------------------------------------------------------------------------------------------------


def test_every_script_with_networks_has_a_device(script):
    assert ("device" in dict(fields(script.Config))) == (script.__name__ not in ON_THE_CPU_ALONE)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
@pytest.mark.parametrize("name", sorted(set(NAMES) - ON_THE_CPU_ALONE - {"papers.ter.train_dreamer"}))
def test_every_method_runs_on_cuda(name, monkeypatch, tmp_path):
    script = importlib.import_module(name)
    short(monkeypatch, script)
    for method, config in {config.method: config for config in smoke(script)}.items():
        script.main(dataclasses.replace(config, device="cuda"), tmp_path / method)


@pytest.mark.skipif(torch.cuda.is_available(), reason="asks for a machine without CUDA")
@pytest.mark.parametrize("name", sorted(set(NAMES) - ON_THE_CPU_ALONE))
def test_without_cuda_one_line_says_so(name, monkeypatch, capsys, tmp_path):
    with pytest.raises(SystemExit) as end:
        command(monkeypatch, importlib.import_module(name), "--device", "cuda", "--run-dir", str(tmp_path / "run"))
    assert end.value.code == 2 and not (tmp_path / "run").exists()
    assert capsys.readouterr().err == (
        "error: device 'cuda' is not available: this PyTorch sees no CUDA device; use cpu\n"
    )
