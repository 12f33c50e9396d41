"""Watching trained agents: what is committed plays well, runs of one's own play, mistakes cost one line."""

import dataclasses
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image

from lab.pages.watch import agents
from lab.pages.watch import pictures as film
from lab.pages.watch.__main__ import main
from lab.pages.watch.agents import play
from lab.pages.watch.pictures import Moment
from lab.rooms import House
from lab.run.errors import UserError
from papers.ners import train as ners_train
from papers.ref_er import train as ref_er_train
from papers.ref_er import train_acer, train_ppo
from papers.ref_er.agents.tasks import to_env
from papers.ref_er.memory.episode import seen
from papers.sibling_rivalry import train as sibling_train
from papers.sibling_rivalry import train_off_policy
from papers.ter import train as ter_train

ROOT = Path(__file__).resolve().parents[4]
AGENTS = {(paper, *key): agent for paper in House().papers() for key, agent in agents.trained(paper).items()}
NAMES = ["-".join(key) for key in AGENTS]
GAINS = {
    ("bias_reduced_her", "Hand", "filtered-her"): (60, 3.0),
    ("bias_reduced_her", "Hand", "her"): (60, 3.0),
    ("ners", "SparsePendulum", "sac-ners"): (3, 100.0),
    ("ners", "SparsePendulum", "sac-random"): (3, 100.0),
    ("ref_er", "Hopper-v5", "vracer-er"): (1, 500.0),
    ("ref_er", "Hopper-v5", "vracer-refer"): (3, 500.0),
    ("ref_er", "WakeFlow-v0", "ddpg-er"): (10, 0.3),  # out of the box as soon as the others, but for no effort
    ("ref_er", "WakeFlow-v0", "vracer-refer"): (10, 0.3),
    ("sibling_rivalry", "AntMazeSmall", "ppo"): (1, 0.0),  # the trap: it never gets there
    ("sibling_rivalry", "AntMazeSmall", "ppo-sr"): (1, 0.0),  # its first seed has not found the way
    ("sibling_rivalry", "AntMazeSmall", "ppo-sr-s11"): (5, 0.5),
    ("sibling_rivalry", "PointMaze", "ppo"): (20, 0.0),  # the trap of the paper's Fig. 3: it never gets there
    ("sibling_rivalry", "PointMaze", "ppo-sr"): (20, 0.7),
    ("sibling_rivalry", "VoxelBuildSmall", "impala"): (20, 0.5),  # it has learnt to place nothing; they place anything
    ("sibling_rivalry", "VoxelBuildSmall", "impala-sr"): (20, 7.0),
    ("ter", "5x5-1", "ter"): (40, 5.0),
    ("ter", "5x5-1", "uer"): (40, 5.0),
}
"""(paper, env, method) -> episodes to be played, and by how much their mean return exceeds that of random actions."""
FIRST_SEEDS = {"5x5-1": 10, "Hand": 5, "AntMazeSmall": 10, "SparsePendulum": 10}
"""Of an environment's runs, where it is not 0; an agent of another one is called after its seed."""


def returns(env, act, episodes: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.array([play(env, act, 2 * i + 1, rng, lambda now: None).total for i in range(episodes)])


@pytest.fixture
def fails(one_line):
    return lambda *arguments: one_line(main, [str(argument) for argument in arguments])


def copied(tmp_path, paper: str = "ter", env: str = "5x5-1", method: str = "ter"):
    """A committed agent as a run of its own, in a folder called after its paper."""
    folder = tmp_path / paper / "run"
    shutil.copytree(AGENTS[paper, env, method].folder, folder)
    return folder


def changed(folder, **settings) -> None:
    path = folder / "config.json"
    content = json.loads(path.read_text())
    content["config"] |= settings
    path.write_text(json.dumps(content))


# ---- what is committed -----------------------------------------------------------------------------------------------


def test_every_paper_has_its_headline():
    assert AGENTS.keys() == GAINS.keys()
    for paper in House().papers():
        assert agents.find(paper) == agents.trained(paper)[agents.module(paper).HEADLINE]


@pytest.mark.parametrize("key", AGENTS, ids=NAMES)
def test_committed_agents_are_small_and_play_as_they_did(key):
    folder = AGENTS[key].folder
    assert sum(path.stat().st_size for path in folder.iterdir()) < 1_000_000
    assert {path.name for path in folder.iterdir()} == {"config.json", "weights.pt"}
    origin = json.loads((folder / "config.json").read_text())
    _, env_id, method = key
    named = re.search(r"-s(\d+)$", method)
    assert origin["config"]["seed"] == (int(named[1]) if named else FIRST_SEEDS.get(env_id, 0))
    assert origin["dirty"] is False
    episodes, gain = GAINS[key]
    env, act = agents.load(AGENTS[key])
    env.action_space.seed(0)
    ours, theirs = returns(env, act, episodes), returns(env, lambda *_: env.action_space.sample(), 2 * episodes)
    assert ours.mean() >= theirs.mean() + gain
    path = folder.parent / f"{folder.name}.gif"
    frames, seconds = of_gif(path)
    assert path.stat().st_size <= film.GIF_BYTES and frames > 10 and seconds <= film.GIF_SECONDS
    assert Image.open(path).width <= 400


def of_gif(path) -> tuple[int, float]:
    """Number of pictures and length in seconds."""
    total = 0
    with Image.open(path) as image:
        for i in range(image.n_frames):
            image.seek(i)
            total += image.info["duration"]
        return image.n_frames, total / 1000


# ---- every kind of run that the scripts write ------------------------------------------------------------------------


def state(observation):
    return np.asarray(observation, np.float32)


def goal(observation):
    return observation["observation"][None], observation["desired_goal"][None]


PENDULUM = dict(env="InvertedPendulum-v5", warmup=300)
REF_ER = dict(**PENDULUM, capacity=1024, batch_size=32)
OFF_POLICY = dict(capacity=40_000, warmup=100, batch_size=32, episodes=4)
SMALL_TER = dict(capacity=64, warmup=64)
RUNS = {
    "ter minigrid": (
        "ter", ter_train, ter_train.Config("SimpleCrossing-Easy", "uer", eval_noise=0.0, **SMALL_TER),
        lambda t, o, i: t.agent.act(t.memory.draw(i["tiles"][None]))[0],
    ),
    "ter codes": (
        "ter", ter_train, ter_train.Config("Unlock", "uer", eval_noise=0.0, network="codes", **SMALL_TER),
        lambda t, o, i: t.agent.act(t.memory.draw(i["tiles"][None]))[0],
    ),
    "ners td3": ("ners", ners_train, ners_train.Config("Pendulum-v1", "random", "td3", capacity=5000),
                 lambda t, o, i: t.agent.act(state(o))),
    "sibling rivalry ddpg": (
        "sibling_rivalry", train_off_policy, train_off_policy.Config("PointMaze", "ddpg-her", **OFF_POLICY),
        lambda t, o, i: t.agent.act(*goal(o))[0],
    ),
    "sibling rivalry dqn": (
        "sibling_rivalry", train_off_policy, train_off_policy.Config("PixelGrid-5-12", "dqn", **OFF_POLICY),
        lambda t, o, i: t.agent.act(*goal(o), i["legal"][None])[0],
    ),
    "sibling rivalry grid": (
        "sibling_rivalry", sibling_train, sibling_train.Config("PixelGrid-5-12", "ppo-sr"),
        lambda t, o, i: t.agent.act(*goal(o), i["legal"][None], np.random.default_rng(5))[0],
    ),
    "ref-er ddpg": ("ref_er", ref_er_train, ref_er_train.Config(method="ddpg", **REF_ER),
                    lambda t, o, i: 3 * t.agent.act(t.memory.scale(state(o)))[0]),
    "ref-er naf": ("ref_er", ref_er_train, ref_er_train.Config(method="naf", **REF_ER),
                   lambda t, o, i: 3 * t.agent.act(t.memory.scale(state(o)))[0]),
    "ref-er recurrent": ("ref_er", ref_er_train,
                         ref_er_train.Config(method="ddpg", network="lstm", window=5, **REF_ER),
                         lambda t, o, i: to_env(t.agent.act(seen([t.memory.scale(state(o))], 5))[0],
                                                t.player.env.action_space)),
    "ref-er ppo": ("ref_er", train_ppo, train_ppo.Config(**PENDULUM), None),
    "ref-er acer": ("ref_er", train_acer, train_acer.Config(**PENDULUM, capacity=1024), None),
}  # fmt: skip
"""Name -> paper, script, config, and what the trained agent does: None where that is drawn."""


@pytest.mark.parametrize("name", RUNS)
def test_a_run_acts_as_its_trainer(name, tmp_path):
    paper, script, config, expected = RUNS[name]
    trainer = script.Trainer(config)
    agent = trainer.agent
    if paper == "ref_er":
        mean = np.full(trainer.player.sizes[0], 0.1, np.float32)
        units = trainer.memory if hasattr(trainer, "memory") else trainer
        units.mean, units.inverse_std = mean, 2 + mean
        weights = agent.weights() | {"states": {"mean": torch.tensor(mean), "inverse_std": torch.tensor(2 + mean)}}
    elif paper == "ter":
        weights = agent.q.state_dict()
    else:
        weights = agent.weights() if hasattr(agent, "weights") else agent.policy.state_dict()
    folder = tmp_path / paper / "run"
    folder.mkdir(parents=True)
    # a learner on a GPU is watched on the CPU; its seed says nothing about its weights
    written = dataclasses.asdict(dataclasses.replace(config, device="cuda", seed=7))
    (folder / "config.json").write_text(json.dumps({"config": written}))
    torch.save(weights, folder / "weights.pt")
    env, act = agents.load(agents.of_run(folder))
    observation, info = env.reset(seed=1)
    chosen = act(observation, info, np.random.default_rng(5))
    if expected is not None:
        np.testing.assert_allclose(chosen, expected(trainer, observation, info), rtol=1e-5)
    assert play(env, act, 1, np.random.default_rng(0), lambda now: None).over


# ---- the command -----------------------------------------------------------------------------------------------------


def test_without_a_paper_it_lists_what_can_be_watched(capsys):
    assert main([]) == main(["--paper", "", "--env", "", "--method", ""]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "make watch PAPER=ref-er ENV=Hopper-v5 METHOD=vracer-refer  (the headline)" in lines
    assert len([line for line in lines if line.startswith("make watch")]) == 2 * len(GAINS)


def test_a_gif_is_written_once(tmp_path, capsys, fails):
    out = tmp_path / "new" / "maze.gif"
    assert main(["--paper", "TER", "--episodes", "2", "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "episode 2: step" in printed and "success in" in printed and str(out) in printed
    frames, seconds = of_gif(out)
    assert frames > 2 and 2 * film.HOLD < seconds <= film.GIF_SECONDS
    before = out.read_bytes()
    assert "exists; choose another name" in fails("--paper", "ter", "--out", out)
    assert out.read_bytes() == before


def test_a_run_in_a_window(tmp_path, capsys, monkeypatch):
    pygame = pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setattr(pygame.time, "wait", lambda ms: None)
    sizes = []
    monkeypatch.setattr(pygame.display, "flip", lambda: sizes.append(pygame.display.get_surface().get_size()))
    assert main(["--run", str(copied(tmp_path)), "--episodes", "1"]) == 0
    steps = int(capsys.readouterr().out.split()[3].rstrip(","))
    assert sizes == [(film.WINDOW_WIDTH, film.WINDOW_WIDTH + film.BAR)] * (steps + 1)


def test_a_window_needs_a_display(fails, monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    assert "OUT=agent.gif" in fails("--paper", "ter")
    monkeypatch.setenv("SDL_VIDEODRIVER", "no such driver")
    assert "cannot open a window" in fails("--paper", "ter")


def test_a_picture_needs_none_and_nothing_is_said_about_it():
    hidden = ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER", "XDG_RUNTIME_DIR")
    code = (
        "import gymnasium\nfrom lab.pages.watch.pictures import picture\n"
        "env = gymnasium.make('Pendulum-v1', render_mode='rgb_array')\nenv.reset(seed=0)\n"
        "assert picture(env).shape[2] == 3"
    )
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_mistakes_cost_one_line(tmp_path, fails):
    gif = ("--out", tmp_path / "x.gif")
    for words, *arguments in (
        ("did you mean ter?", "--paper", "tet"),
        ("unknown env of ter '9x9'", "--paper", "ter", "--env", "9x9"),
        ("choose from: ter, uer", "--paper", "ter", "--method", "sarsa"),
        ("name the paper", "--env", "5x5-1"),
        ("must end in .gif", "--paper", "ter", "--out", tmp_path / "x.mp4"),
        ("--episodes 0 shows nothing", "--paper", "ter", "--episodes", 0),
        ("seed -1 is negative", "--paper", "ter", "--seed", -1, *gif),
        ("did you mean --seed?", "--sed", 1),
        ("drop --env", "--run", tmp_path, "--env", "5x5-1"),
        ("add --paper", "--run", tmp_path),
        ("No such file", "--run", tmp_path, "--paper", "ter", *gif),
    ):
        assert words in fails(*arguments)
    assert not list(tmp_path.glob("*.gif"))


def test_damaged_runs_cost_one_line(tmp_path, fails):
    folder = copied(tmp_path)
    config, weights = folder / "config.json", folder / "weights.pt"
    good, trained = config.read_bytes(), weights.read_bytes()
    for words, spoil in (
        ("do not fit its config.json", lambda: changed(folder, network="nature")),
        ("unknown settings, colour", lambda: changed(folder, colour="red")),
        ("cannot be watched", lambda: changed(folder, env="Freeway")),
        ("cannot read the run", lambda: config.write_text("{")),
        ("cannot read the run", lambda: weights.write_bytes(b"no weights")),
        ("cannot read the run", lambda: torch.save([1.0], weights)),
        ("No such file", weights.unlink),
    ):
        config.write_bytes(good)
        spoil()
        assert words in fails("--run", folder, "--out", tmp_path / "x.gif")
    weights.write_bytes(trained)
    assert "unknown settings" in fails("--run", folder, "--paper", "ners", "--out", tmp_path / "x.gif")
    folder = copied(tmp_path, "ref_er", "Hopper-v5", "vracer-er")
    state = torch.load(folder / "weights.pt")
    del state["states"]
    torch.save(state, folder / "weights.pt")
    assert "lacks the units of states" in fails("--run", folder, "--out", tmp_path / "x.gif")


def test_settings_that_a_config_did_not_have_yet_get_their_defaults(tmp_path):
    values = dataclasses.asdict(ners_train.Config(capacity=7))
    del values["tau"], values["sampling"]["features"]
    assert agents.rebuild([ners_train.Config], values, tmp_path) == ners_train.Config(capacity=7)
    values["sampling"]["colour"] = "red"
    with pytest.raises(UserError, match="unknown settings, colour"):
        agents.rebuild([ners_train.Config], values, tmp_path)


# ---- pictures --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fps, steps, episodes", [(125, 1000, 1), (10, 50, 4), (4, 1, 8), (50, 300, 20)])
@pytest.mark.parametrize("gap", sorted({gap for gap, _ in film.GIF_TRIES}))
def test_a_gif_shows_every_end_and_lasts_ten_seconds_at_most(fps, steps, episodes, gap):
    moments = [Moment(step, over=step == steps) for _ in range(episodes) for step in range(steps + 1)]
    found, milliseconds = film.cut(moments, fps, gap)
    kept = [moments[i] for i in found]
    assert [now.steps for now in kept].count(0) == sum(now.over for now in kept) == episodes
    assert 20 <= min(milliseconds) and sum(milliseconds) <= 1000 * film.GIF_SECONDS
    assert len(kept) <= film.GIF_SECONDS / gap + 2 * episodes
    if episodes == 1:  # in its own time where that is short enough
        assert sum(milliseconds) == pytest.approx(1000 * (steps / fps + film.HOLD), rel=0.15)


def test_colours_of_small_things_survive_in_a_gif():
    picture = np.full((100, 400, 3), 250, np.uint8)
    picture[:, :, 0] = np.arange(400) % 256
    picture[50:53, 200:203] = (0, 114, 178)
    env = SimpleNamespace(render=lambda: picture)
    shots = film.Film("title", 10)
    shots.show(env, "caption", Moment())
    shots.show(env, "caption", Moment(1, over=True))
    shown = np.asarray(Image.open(BytesIO(shots.gif())).convert("RGB")).astype(int)
    assert np.abs(shown - (0, 114, 178)).sum(axis=2).min() < 40


def test_captions_fit_and_say_how_it_ended():
    assert str(Moment(3, -1.5, True, False)) == "step 3, return -1.5, no success"
    assert str(Moment(3, 2600.123, True)) == "step 3, return 2600"
    assert str(Moment(3, 1.0, False, False)) == "step 3, return 1"
    picture = Image.new("RGB", (80, 50))
    short = np.asarray(film.captioned(picture, 320, "a", "b"))
    assert short.shape == (200 + film.BAR, 320, 3) and (short[film.BAR :] == 0).all()
    long = np.asarray(film.captioned(picture, 320, "a" * 45, "b" * 45))
    assert (long[: film.BAR, -4:] == 255).all() and (long[: film.BAR, 200:-4] < 128).any()


def test_mujoco_that_cannot_draw_says_what_to_install(monkeypatch, fails, tmp_path):
    def missing(*_):
        raise ImportError("no library OSMesa")

    importlib.import_module("mujoco")  # as by the environment; with the next line's setting it may not be imported
    monkeypatch.setenv("MUJOCO_GL", "osmesa")
    with pytest.raises(UserError, match="apt install libegl1"):
        film.picture(SimpleNamespace(unwrapped=SimpleNamespace(mujoco_renderer=None), render=missing))
    monkeypatch.setattr(agents.module("ref_er"), "player", missing)  # or already when it is imported
    assert "(no library OSMesa); install OpenGL" in fails("--paper", "ref-er", "--out", tmp_path / "x.gif")


def test_mujoco_is_seen_from_the_camera_that_follows():
    env, _ = agents.load(AGENTS["ref_er", "Hopper-v5", "vracer-er"])
    camera = env.unwrapped.mujoco_renderer.camera_id
    assert env.unwrapped.model.camera(camera).name == "track"  # nothing is drawn here: OpenGL may be missing
