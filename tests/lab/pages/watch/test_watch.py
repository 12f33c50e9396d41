"""Watching trained agents, in a window or as a GIF; mistakes cost one line."""

import importlib
import json
import os
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

from lab import agents
from lab.agents import Moment
from lab.pages.watch import pictures as film
from lab.pages.watch.__main__ import main
from lab.run.errors import UserError

ROOT = Path(__file__).resolve().parents[4]
GIFS = sorted(ROOT.glob("papers/*/evidence/trained/*.gif"))
"""One of each committed agent."""


@pytest.fixture
def fails(one_line):
    return lambda *arguments: one_line(main, [str(argument) for argument in arguments])


def copied(tmp_path, paper: str = "ter", env: str = "5x5-1", method: str = "ter"):
    """A committed agent as a run of its own, in a folder called after its paper."""
    folder = tmp_path / paper / "run"
    shutil.copytree(agents.find(paper, env, method).folder, folder)
    return folder


def changed(folder, **settings) -> None:
    path = folder / "config.json"
    content = json.loads(path.read_text())
    content["config"] |= settings
    path.write_text(json.dumps(content))


def of_gif(path) -> tuple[int, float]:
    """Number of pictures and length in seconds."""
    total = 0
    with Image.open(path) as image:
        for i in range(image.n_frames):
            image.seek(i)
            total += image.info["duration"]
        return image.n_frames, total / 1000


@pytest.mark.parametrize("path", GIFS, ids=[path.stem for path in GIFS])
def test_committed_gifs_are_small_and_short(path):
    frames, seconds = of_gif(path)
    assert path.stat().st_size <= film.GIF_BYTES and frames > 10 and seconds <= film.GIF_SECONDS
    assert Image.open(path).width <= 400 and (path.with_suffix("") / "config.json").exists()


# ---- the command -----------------------------------------------------------------------------------------------------


def test_without_a_paper_it_lists_what_can_be_watched(capsys):
    assert main([]) == main(["--paper", "", "--env", "", "--method", ""]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "make watch PAPER=ref-er ENV=Hopper-v5 METHOD=vracer-refer  (the headline)" in lines
    assert len([line for line in lines if line.startswith("make watch")]) == 2 * len(GIFS)


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
    env = agents.load("ref-er", "Hopper-v5", "vracer-er").env
    camera = env.unwrapped.mujoco_renderer.camera_id
    assert env.unwrapped.model.camera(camera).name == "track"  # nothing is drawn here: OpenGL may be missing
