"""How a run on a Fetch task is watched: as its trainer acts, with pictures."""

import numpy as np
import pytest

from papers.bias_reduced_her import train, train_fetch
from papers.bias_reduced_her.evidence.watch import NEAR, player

pytest.importorskip("gymnasium_robotics")


@pytest.mark.parametrize("config", [
    train_fetch.Config("FetchPush", capacity=5_000), train.Config("FetchReach", "her", capacity=5_000),
], ids=["her's protocol", "the paper's"])  # fmt: skip
def test_a_run_acts_as_its_trainer(config):
    trainer = train.Trainer(config)
    for e in trainer.play(trainer.worlds, np.arange(16), trainer.explore):
        trainer.store(e, *trainer.hindsight(e.achieved))
    env, act = player(config, trainer.agent.weights() | trainer.scale.weights())
    seen, info = env.reset(seed=1)
    expected = trainer.agent.act(trainer.inputs(seen["observation"][None], seen["desired_goal"][None]))[0]
    np.testing.assert_allclose(act(seen, info, np.random.default_rng(0)), expected, atol=1e-5)
    assert env.render_mode == "rgb_array" and env.unwrapped.mujoco_renderer.default_cam_config is NEAR
    model = env.unwrapped.model
    marks = [i for i in range(model.ngeom) if model.body(model.geom_bodyid[i]).name == "robot0:mocap"]
    assert marks and not model.geom_rgba[marks].any() and model.geom_rgba.any()
