"""Goal environments under Stable-Baselines3's hindsight: rewards of other goals, batch by batch."""

import gymnasium
import numpy as np
import pytest

WORLDS = {
    "BitFlip-v0": dict(n=6, quit="timeout"),
    "BitFlipBox-v0": dict(n=6),
    "PointMaze-v0": {},
    "Corridor-v0": dict(length=1),
    "UMaze-v0": dict(length=1),
    "TreeMaze-v0": dict(size=2),
    "PixelGrid-v0": dict(size=5, max_steps=12),
    "CircularTrack-v0": {},
    "AntMazeSmall-v0": {},
    "Hand-v1": {},
    "HandWall-v1": {},
    "Robot-v1": {},
    "VoxelBuild-v0": dict(max_steps=50),
    "VoxelBuildSmall-v0": dict(max_steps=50),
}


def hindsight(name, n_envs=2, **buffer):
    """A learner that has begun to learn, with four virtual goals for each real one."""
    sb3 = pytest.importorskip("stable_baselines3")
    from stable_baselines3.common.env_util import make_vec_env

    envs = make_vec_env(
        lambda: gymnasium.make(f"envs:{name}", disable_env_checker=True, **WORLDS[name]), n_envs, seed=1
    )
    kind = sb3.DQN if isinstance(envs.action_space, gymnasium.spaces.Discrete) else sb3.SAC
    steps = 900 if name.startswith("Ant") else 300  # an episode of all copies must be over
    model = kind(
        "MultiInputPolicy", envs, learning_starts=steps, batch_size=16, train_freq=40, gradient_steps=1, seed=0,
        replay_buffer_class=sb3.HerReplayBuffer, replay_buffer_kwargs=buffer, buffer_size=2_000,
        policy_kwargs={"net_arch": [8]},
    )  # fmt: skip
    return model.learn(steps + 40)


@pytest.mark.filterwarnings("ignore:.*For Box action spaces")
@pytest.mark.parametrize("name", WORLDS)
def test_rewards_of_virtual_goals_are_those_of_single_steps(name):
    """Of builds, the one before a step is in the observation before it."""
    model = hindsight(name, copy_info_dict=name.startswith("Voxel"))
    batch, alone = model.replay_buffer.sample(200), gymnasium.make(f"envs:{name}", **WORLDS[name]).unwrapped
    before, after, goals = (
        part[key].numpy()
        for part, key in (
            (batch.observations, "achieved_goal"),
            (batch.next_observations, "achieved_goal"),
            (batch.observations, "desired_goal"),
        )
    )
    rewards = batch.rewards.numpy()
    assert rewards.shape == (200, 1) and len(np.unique(rewards)) > 1
    for i in range(200):
        [reward] = rewards[i]
        assert reward == alone.compute_reward(after[i], goals[i], {"achieved_before": before[i]})


def test_builds_need_what_the_buffer_leaves_out_by_default():
    with pytest.raises(ValueError, match=r"HerReplayBuffer keeps it with copy_info_dict=True$") as caught:
        hindsight("VoxelBuildSmall-v0")
    assert "\n" not in str(caught.value)
