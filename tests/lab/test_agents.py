"""Trained agents: what is committed plays well, runs of every script play as they did, and cards tell what there is."""

import dataclasses
import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from lab import agents
from lab.agents import Agent, play
from lab.cards import Card, Committed, Episodes, results_of
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
from tests.processes import fresh

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "GUIDE.md").read_text()
AGENTS = {(paper, *key): agent for paper in House().papers() for key, agent in agents.trained(paper).items()}
NAMES = ["-".join(key) for key in AGENTS]
GAINS = {
    ("bias_reduced_her", "FetchPush", "filtered-her"): (20, 20.0),
    ("bias_reduced_her", "FetchPush", "her"): (20, 5.0),
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
FIRST_SEEDS = {"5x5-1": 10, "FetchPush": 5, "Hand": 5, "AntMazeSmall": 10, "SparsePendulum": 10}
"""Of an environment's runs, where it is not 0; an agent of another one is called after its seed."""


def returns(env, act, episodes: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.array([play(env, act, 2 * i + 1, rng, lambda now: None).total for i in range(episodes)])


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
    agent = Agent(AGENTS[key])
    env, act = agent.env, agent.act
    env.action_space.seed(0)
    ours, theirs = returns(env, act, episodes), returns(env, lambda *_: env.action_space.sample(), 2 * episodes)
    assert ours.mean() >= theirs.mean() + gain


# ---- in a script of one's own ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("given, success", [(np.float32(1), True), (np.float32(0), False), (None, None)])
def test_success_is_a_truth_value_whatever_the_environment_gives(given, success):
    info = {} if given is None else {"is_success": given}
    env = SimpleNamespace(reset=lambda seed: (0, {}), step=lambda action: (0, -1.0, False, True, info))
    end = play(env, lambda *_: 0, 1, np.random.default_rng(0), lambda now: None)
    assert end.success is success and (end.steps, end.total) == (1, -1.0)


def test_an_agent_plays_the_same_episodes_for_the_same_seed():
    agent = agents.load("TER", "5x5-1")
    assert agent.saved == AGENTS["ter", "5x5-1", "ter"] and agent.config.eta == 0.1
    first, again, other = agent.play(6, seed=3), agent.play(6, seed=3), agent.play(6, seed=4)
    np.testing.assert_array_equal(first.returns, again.returns)
    np.testing.assert_array_equal(first.successes, again.successes)
    assert list(first.returns) != list(other.returns)
    observation, info = agent.env.reset(seed=1)
    assert agent.env.action_space.contains(agent.act(observation, info, np.random.default_rng(0)))
    assert (first.successes == (first.returns > 5.0)).mean() > 0.8, "a solved level pays 10 and more, less 0.1 a step"
    assert agents.load("ners").play(1).successes is None, "the pendulum knows no success"


@pytest.mark.parametrize(
    "words, named",
    [
        ("unknown paper 'tet', did you mean ter?", ["tet"]),
        ("unknown env of ter '9x9'; choose from: 5x5-1", ["ter", "9x9"]),
        ("unknown method of ter on 5x5-1 'sarsa'; choose from: ter, uer", ["ter", "5x5-1", "sarsa"]),
    ],
)
def test_a_wrong_name_costs_one_line_with_the_right_ones(words, named, one_line):
    assert words in one_line(agents.load, *named)


def test_no_episodes_and_no_folder(tmp_path, one_line):
    assert "play 1 or more" in one_line(agents.load("ter").play, 0)
    assert "add --paper" in one_line(agents.from_folder, tmp_path)
    assert "No such file" in one_line(agents.from_folder, tmp_path, "ter")


@pytest.mark.parametrize("key", AGENTS, ids=NAMES)
def test_the_committed_results_have_the_runs_of_every_agent(key):
    """Its own among them; other settings are not counted, or the other method would be."""
    paper, _, method = key
    content = json.loads((AGENTS[key].folder / "config.json").read_text())
    config = agents.rebuild(agents.module(paper).CONFIGS, content["config"], Path())
    found = results_of(House().papers()[paper], config)
    assert found.method.replace(" ", "-") == re.sub(r"-s\d+$", "", method)
    assert len(found.scores) >= 3 and config.seed in found.scores
    assert found.metric == ("return" if paper in ("ners", "ref_er") else "success")


def test_a_card_says_what_there_is():
    agent = agents.load("ter", "5x5-1", "uer")
    card = agent.card(4, seed=1)
    played = agent.play(4, seed=1)
    assert card.metrics[0][2] == played.returns.mean() and card.metrics[1][2] == played.successes.mean()
    rows = pd.read_csv(ROOT / "papers/ter/evidence/results/quick/fig3b.csv")
    rows = rows[(rows["method"] == "uer") & (rows["env"] == "5x5-1") & (rows["metric"] == "success")]
    last = rows[rows["step"] > 70_000].groupby("seed")["value"].mean()
    assert card.committed.scores == pytest.approx(last.to_dict()) and card.committed.scale == "quick"
    page = str(card)
    assert card.name == "uer on 5x5-1" and "100,000 steps, seed 10, code of commit 5f99598" in page
    assert f"success {last.mean():.4g} ± {last.std():.3g}, mean and SD of 5 runs (seeds 10, 11, 12, 13, 14)" in page
    assert "[Topological Experience Replay](papers/ter/README.md) (Zhang-Wei Hong" in page
    assert "`agent.play(4, seed=1)`" in page and (ROOT / "papers/ter/VERDICTS.md").is_file()


def test_a_card_of_settings_that_nobody_has_run():
    config = dataclasses.replace(agents.load("ter").config, lr=0.1)
    assert results_of(House().papers()["ter"], config) is None
    played = Episodes(np.ones(1), None, 0)
    unknown = Card("A paper", "Someone", "papers/ter", "e", "m", "9 steps", 0, "unknown", played, None)
    assert "no committed run has these settings" in str(unknown) and "| return 1 (mean" in str(unknown)
    single = Committed("quick", "m", "return", {0: 2.0})
    assert "return 2, one run (seed 0)" in str(dataclasses.replace(unknown, committed=single))


def test_the_guide_shows_how(tmp_path):
    """From any directory."""
    [block] = re.findall(r"^### A trained agent in your own script\n.*?```python\n(.*?)```", GUIDE, re.S | re.M)
    assert len(block.splitlines()) == 3
    block = block.replace("card()", "card(3)")
    environment = {**fresh(), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", block], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert "# ter on 5x5-1" in done.stdout, done.stderr


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
    agent = agents.from_folder(folder)
    env, act = agent.env, agent.act
    observation, info = env.reset(seed=1)
    chosen = act(observation, info, np.random.default_rng(5))
    if expected is not None:
        np.testing.assert_allclose(chosen, expected(trainer, observation, info), rtol=1e-5)
    assert play(env, act, 1, np.random.default_rng(0), lambda now: None).over


def test_settings_that_a_config_did_not_have_yet_get_their_defaults(tmp_path):
    values = dataclasses.asdict(ners_train.Config(capacity=7))
    del values["tau"], values["sampling"]["features"]
    assert agents.rebuild([ners_train.Config], values, tmp_path) == ners_train.Config(capacity=7)
    values["sampling"]["colour"] = "red"
    with pytest.raises(UserError, match="unknown settings, colour"):
        agents.rebuild([ners_train.Config], values, tmp_path)
