"""Agents as folders for the Hugging Face hub: its own library reads the card, and what is read back acts the same."""

import importlib.util
import json
import shutil
import sys

import numpy as np
import pytest
import torch
from PIL import Image

from lab import agents, hub
from lab.agents import SAFE_WEIGHTS, Agent, from_folder, load

needs_safetensors = pytest.mark.skipif(
    not importlib.util.find_spec("safetensors"), reason="needs safetensors (group hub)"
)
FILES = {"README.md", "config.json", SAFE_WEIGHTS, "replay.gif"}


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A committed agent as a folder, and its card."""
    folder = tmp_path_factory.mktemp("hub") / "new" / "ter"
    return folder, hub.export(load("ter", "5x5-1"), folder, 3, seed=2)


@needs_safetensors
def test_a_folder_has_the_files_of_the_hub_and_nothing_stays_beside_it(exported):
    folder, _ = exported
    assert {path.name for path in folder.iterdir()} == FILES and len(list(folder.parent.iterdir())) == 1
    with Image.open(folder / "replay.gif") as gif:
        assert gif.n_frames > 10


@needs_safetensors
def test_the_library_of_the_hub_reads_the_score(exported):
    huggingface_hub = pytest.importorskip("huggingface_hub", reason="needs huggingface-hub (group ci)")
    folder, card = exported
    read = huggingface_hub.ModelCard.load(folder / "README.md")
    played = load("ter", "5x5-1").play(3, seed=2)
    assert (read.data.library_name, read.data.pipeline_tag) == (hub.LIBRARY, "reinforcement-learning")
    assert {"reinforcement-learning", "ter", "5x5-1"} <= set(read.data.tags)
    assert read.data.model_name == "ter on 5x5-1"
    scores = {one.metric_type: one.metric_value for one in read.data.eval_results}
    assert scores == {"mean_reward": played.returns.mean(), "success_rate": played.successes.mean()}
    assert {one.dataset_name for one in read.data.eval_results} == {"5x5-1"}
    assert str(card) in read.text


@needs_safetensors
@pytest.mark.parametrize(
    "named",
    [
        ("ter", "5x5-1"), ("ref_er", "WakeFlow-v0", "ddpg-er"), ("sibling_rivalry", "VoxelBuildSmall", "impala-sr"),
        ("bias_reduced_her", "Hand", "her"), ("ners",),
    ],
    ids=lambda named: named[0],
)  # fmt: skip
def test_an_agent_that_is_read_back_acts_as_the_original(named, tmp_path):
    """Also with weights in dictionaries, and with those whose memory is not contiguous."""
    agent = load(*named)
    hub.export(agent, tmp_path / "out", 1)
    back = from_folder(tmp_path / "out")
    assert back.config == agent.config and back.saved.paper == agent.saved.paper
    np.testing.assert_array_equal(back.play(2, seed=5).returns, agent.play(2, seed=5).returns)
    observation, info = agent.env.reset(seed=1)
    back.env.reset(seed=1)
    actions = [one.act(observation, info, np.random.default_rng(1)) for one in (agent, back)]
    np.testing.assert_array_equal(*actions)
    state = torch.get_rng_state()
    hub.export(back, tmp_path / "again", 1)  # a folder that was exported can be exported
    assert (tmp_path / "again" / SAFE_WEIGHTS).read_bytes() == (tmp_path / "out" / SAFE_WEIGHTS).read_bytes()
    assert torch.equal(state, torch.get_rng_state())


def test_weights_in_dictionaries_become_one_and_again_several():
    weights = {"a.b": 1, "states": {"mean": 2, "deep": {"er": 3}}}
    assert agents.flat(weights) == {"a.b": 1, "states/mean": 2, "states/deep/er": 3}
    assert agents.nested(agents.flat(weights)) == weights


@needs_safetensors
def test_a_run_is_exported_with_a_picture_of_its_own(tmp_path, capsys):
    run = tmp_path / "ter" / "run"
    shutil.copytree(agents.find("ter", "5x5-1", "uer").folder, run)
    assert hub.main(["--run", str(run), "--out", str(tmp_path / "out"), "--episodes", "2"]) == 0
    said = capsys.readouterr().out
    assert "uer on 5x5-1: mean return of 2 episodes" in said and f"written: {tmp_path / 'out'}" in said
    assert {path.name for path in (tmp_path / "out").iterdir()} == FILES


@needs_safetensors
def test_what_exists_is_not_touched(tmp_path, one_line):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/README.md").write_text("mine")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "empty").mkdir()
    for name in ("mine", "file", "empty"):
        out = str(tmp_path / name)
        assert f"{out} exists; choose another name" in one_line(hub.main, ["--paper", "ter", "--out", out])
    assert (tmp_path / "mine/README.md").read_text() == (tmp_path / "file").read_text() == "mine"
    assert not list((tmp_path / "empty").iterdir())


@needs_safetensors
def test_an_export_that_fails_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(hub, "_picture", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        hub.export(load("ter"), tmp_path / "out", 1)
    assert not list(tmp_path.iterdir())


def test_mistakes_cost_one_line(tmp_path, one_line, monkeypatch):
    out = ["--out", str(tmp_path / "out")]
    for words, *arguments in (
        ("name the folder to write: OUT=", "--paper", "ter", "--out", ""),
        ("name the agent: PAPER=", *out),
        ("did you mean ter?", "--paper", "tet", *out),
        ("drop --env", "--run", str(tmp_path), "--env", "x", *out),
        ("play 1 or more", "--paper", "ter", "--episodes", "0", *out),
    ):
        if "play" not in words or importlib.util.find_spec("safetensors"):
            assert words in one_line(hub.main, arguments)
    monkeypatch.setitem(sys.modules, "safetensors.torch", None)
    assert "pip install --group hub" in one_line(hub.main, ["--paper", "ter", *out])
    assert not list(tmp_path.iterdir())


@needs_safetensors
def test_damaged_folders_cost_one_line_and_no_code_is_run(exported, tmp_path, one_line):
    folder = tmp_path / "ter"
    shutil.copytree(exported[0], folder)
    good = (folder / SAFE_WEIGHTS).read_bytes()
    (folder / "weights.pt").write_bytes(b"never read")
    assert Agent(agents.of_run(folder)).play(1).returns.shape == (1,)
    for spoilt in (b"", b"no weights", good[:-4]):
        (folder / SAFE_WEIGHTS).write_bytes(spoilt)
        assert "cannot read the run" in one_line(from_folder, folder)
    (folder / SAFE_WEIGHTS).write_bytes(good)
    content = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(content | {"paper": "os"}))
    assert "does not say which paper it belongs to" in one_line(from_folder, folder)
    (folder / "config.json").write_text("[]")
    assert "cannot read the run" in one_line(from_folder, folder)
