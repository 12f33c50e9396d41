"""The ant maze: the ant of the paper and its walls, steps by hand, where walls stop it, starts and goals, pictures."""

import xml.etree.ElementTree as ElementTree

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs.ant.ant_maze import ANT, LAYOUTS, AntMaze
from envs.goal_task import GoalEnv

MAZES = {"U": (-4.0, 20.0, 8.0), "small U": (-2.0, 10.0, 4.0)}
"""Where the free squares begin and end along both axes, and the side of a block."""
HARD = 0.1
"""How deep a contact may give way, as MuJoCo's contacts do a little."""
TORSO = 0.25


@pytest.fixture(scope="module")
def mazes():
    return {name: AntMaze(name) for name in LAYOUTS}


def inside_walls(points: np.ndarray, maze: str) -> np.ndarray:
    """Which of the points [..., 2] lie in a wall of the U or beyond: by its corners, not by its blocks."""
    low, high, side = MAZES[maze]
    x, y = points[..., 0], points[..., 1]
    outside = (x < low) | (x > high) | (y < low) | (y > high)
    bar = (x < low + 2 * side) & (y > low + side) & (y < low + 2 * side)
    return outside | bar


def at_rest(task: AntMaze, x: float, y: float, n: int = 1) -> np.ndarray:
    states = np.zeros((n, 30))
    states[:, :15] = task.model.qpos0
    states[:, :2] = x, y
    return states


def run(task: AntMaze, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
    """All states [n, T + 1, 30] of steps with the actions [n, T, 8]."""
    found = [states]
    for t in range(actions.shape[1]):
        found.append(task.step(found[-1], actions[:, t], np.random.default_rng(0)))
    return np.stack(found, axis=1)


# ---- the ant ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("layout", "integrator"), [("U", "RK4"), ("small U", "IMPLICITFAST"), ("arena", "IMPLICITFAST")]
)
def test_it_is_the_papers_ant(layout, integrator, mazes):
    task, model = mazes[layout], mazes[layout].model
    assert (model.nq, model.nv, model.nu) == (15, 14, 8)
    assert model.body_mass.sum() == pytest.approx(0.911, abs=0.001)
    assert model.opt.timestep == 0.02 and model.opt.integrator == getattr(mujoco.mjtIntegrator, f"mjINT_{integrator}")
    assert (model.actuator_ctrlrange == [-30, 30]).all() and (model.actuator_gear[:, 0] == 1).all()
    joints = [model.joint(model.actuator_trnid[i, 0]).name for i in range(8)]
    assert joints == [f"{joint}_{leg}" for leg in (4, 1, 2, 3) for joint in ("hip", "ankle")]
    assert (task.observation_shape, task.n_actions, task.action_range, task.tolerance) == ((30,), 8, 30, 1)
    assert not mujoco.mj_isSparse(model)


def test_steps_and_goals_of_the_mazes(mazes):
    assert [mazes[name].max_steps for name in LAYOUTS] == [500, 400, 400]
    for name, low, high in (("U", (-3.5, 12.5), (3.5, 19.5)), ("small U", (-1.75, 6.25), (1.75, 9.75))):
        goals = mazes[name].goals(4_000, np.random.default_rng(0))
        assert goals.dtype == np.float32 and not inside_walls(goals, name).any()
        np.testing.assert_allclose(goals.min(axis=0), low, atol=0.02)
        np.testing.assert_allclose(goals.max(axis=0), high, atol=0.02)
        np.testing.assert_allclose(goals.mean(axis=0), np.add(low, high) / 2, atol=0.1)


def test_the_model_by_another_way():
    """The same ant and walls, written into the XML: the same numbers, bit for bit."""
    tree = ElementTree.parse(ANT)
    tree.find("option").attrib.update(timestep="0.02", integrator="implicitfast")
    tree.find("default/geom").attrib.update(solref=".02 1", solimp=".8 .8 .01")
    for motor in tree.find("actuator"):
        motor.attrib.update(ctrlrange="-30 30", gear="1")
    for row, line in enumerate(("#####", "#  .#", "### #", "#   #", "#####")):
        for column, kind in enumerate(line):
            if kind == "#":
                place = f"{4 * (column - 1)} {4 * (row - 1)} 2"
                box = dict(type="box", size="2 2 2", pos=place, contype="1", conaffinity="1")
                ElementTree.SubElement(tree.find("worldbody"), "geom", box)
    model = mujoco.MjModel.from_xml_string(ElementTree.tostring(tree.getroot(), encoding="unicode"))
    task, rng = AntMaze("small U"), np.random.default_rng(1)
    actions = rng.uniform(-30, 30, (3, 60, 8)).astype(np.float32)
    starts = task.starts(3, rng)
    starts[0, 1] = starts[1, 0] = 1.0  # legs touch the bar, and the ground alone
    for state, played, torques in zip(starts, run(task, starts, actions), actions):
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:] = state[:15], state[15:-1]
        for t, torque in enumerate(torques):
            data.ctrl[:], data.qacc_warmstart[:] = torque, 0.0
            mujoco.mj_step(model, data, 5)
            np.testing.assert_array_equal(played[t + 1], [*data.qpos, *data.qvel, t + 1])


def test_rows_do_not_know_of_each_other_and_torques_are_limited(mazes):
    task, rng = mazes["small U"], np.random.default_rng(2)
    states, actions = task.starts(6, rng), rng.uniform(-60, 60, (6, 8)).astype(np.float32)
    before = states.copy()
    together = task.step(states, actions, rng)
    for i in (5, 2, 0):
        one = task.step(states[i : i + 1], actions[i : i + 1].clip(-30, 30), rng)[0]
        np.testing.assert_array_equal(one, together[i])
    np.testing.assert_array_equal(states, before)
    assert not np.allclose(together, task.step(states, actions / 2, rng))


def test_what_the_learner_sees(mazes):
    task = mazes["U"]
    states = np.random.default_rng(3).normal(size=(4, 30))
    states[:, -1] = [0, 1, 20, 500]
    seen = task.observe(states)
    assert seen.dtype == np.float32
    np.testing.assert_array_equal(seen[:, :29], states[:, :29].astype(np.float32))
    np.testing.assert_allclose(seen[:, 29], [0, 0.001, 0.02, 0.5], rtol=1e-6)
    np.testing.assert_array_equal(task.achieved(states), states[:, :2].astype(np.float32))
    assert task.distance(np.float32([[0, 0], [1, 1]]), np.float32([[3, 4], [1, 2.5]])).tolist() == [5, 1.5]


def test_starts(mazes):
    starts = mazes["U"].starts(4_000, np.random.default_rng(4))
    noise = starts[:, [0, 1, 2, *range(7, 15)]] - [0, 0, 0.75, *[0] * 8]
    assert np.abs(noise).max() <= 0.1 and np.abs(noise).max(axis=0).min() > 0.099
    np.testing.assert_allclose(noise.std(axis=0), 0.2 / 12**0.5, rtol=0.05)
    np.testing.assert_allclose(np.linalg.norm(starts[:, 3:7], axis=1), 1.0)
    tilt = starts[:, 4:7] / starts[:, 3:4]
    assert 0.1 < np.abs(tilt).max() < 0.1 / 0.9 + 1e-9
    np.testing.assert_allclose(starts[:, 15:29].std(axis=0), 0.1, rtol=0.05)
    assert (starts[:, 29] == 0).all()


# ---- walls -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("maze", MAZES)
def test_blocks_stand_where_the_paper_draws_them(maze, mazes):
    low, high, _ = MAZES[maze]
    side = np.linspace(low, high, 49) + 0.01
    points = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    free = [mazes[maze].contains(point) for point in points]
    np.testing.assert_array_equal(free, ~inside_walls(points, maze))
    assert mazes[maze].extent == (low, high, low, high)
    model = mazes[maze].model
    boxes = [i for i in range(model.ngeom) if model.geom_type[i] == mujoco.mjtGeom.mjGEOM_BOX]
    assert len(boxes) == 18 and all(model.geom_pos[i, 2] == model.geom_size[i, 2] == 2 for i in boxes)


@settings(max_examples=25, deadline=None)
@given(
    maze=st.sampled_from(list(MAZES)), angle=st.floats(0, 2 * np.pi), speed=st.floats(5, 15), place=st.integers(0, 4),
    seed=st.integers(0, 2**16),
)  # fmt: skip
def test_no_part_of_the_torso_passes_a_wall(maze, angle, speed, place, seed, mazes):
    """Thrown at walls and pushing with all its might. 15 units a second is many times what an ant walks."""
    low, _, side = MAZES[maze]
    centres = [(0, 0), (1, 0), (2, 0), (2, 1), (0, 2)]  # free blocks
    task, rng = mazes[maze], np.random.default_rng(seed)
    states = at_rest(task, *(low + side / 2 + side * np.array(centres[place])))
    states[:, 15:17] = speed * np.cos(angle), speed * np.sin(angle)
    played = run(task, states, rng.uniform(-30, 30, (1, 25, 8)))[0]
    ring = np.linspace(0, 2 * np.pi, 16, endpoint=False)
    edge = (TORSO - HARD) * np.stack([np.cos(ring), np.sin(ring)], axis=1)
    low_enough = played[:, 2] < 4  # it is never thrown over
    assert low_enough.all()
    assert not inside_walls(played[:, None, :2] + edge, maze).any()


def test_the_bar_stops_it_and_without_walls_it_goes_on(mazes):
    ends = {}
    for name in ("U", "arena"):
        states = at_rest(mazes[name], 0.0, 1.0)
        states[:, 16] = 15.0
        ends[name] = run(mazes[name], states, np.zeros((1, 10, 8)))[0, :, 1].max()
    assert 3 < ends["U"] < 4 - TORSO + HARD and ends["arena"] > 6


# ---- episodes --------------------------------------------------------------------------------------------------------
def test_where_the_simulator_gives_up_the_ant_stays(mazes):
    task = mazes["small U"]
    states = at_rest(task, 1.0, 0.5, n=3)
    states[1, 15:29], states[:, 29] = 1e12, 7
    after = task.step(states, np.zeros((3, 8)), np.random.default_rng(0))
    np.testing.assert_array_equal(after[1, :15], states[1, :15])
    assert (after[1, 15:29] == 0).all() and (after[:, 29] == 8).all() and np.isfinite(after).all()
    np.testing.assert_array_equal(after[0], after[2])
    assert not np.array_equal(after[0, :15], states[0, :15])


def test_an_episode_ends_at_the_goal_or_when_time_is_over(mazes):
    env, still = GoalEnv(mazes["small U"]), np.zeros(8, np.float32)
    state = at_rest(env.task, 0.0, 0.0)[0]
    env.reset(seed=0, options={"state": state, "goal": [0.95, 0.0]})
    assert env.step(still)[1:4] == (1.0, True, False)
    env.reset(options={"state": state, "goal": [0.0, 8.0]})
    assert [env.step(still)[2:4] for _ in range(400)] == [(False, False)] * 399 + [(False, True)]
    with pytest.raises(ValueError, match="no state meets the goal"):
        env.reset(options={"goal": [0.0, 4.0]})


def test_an_unknown_layout():
    with pytest.raises(ValueError, match="unknown layout 'V'; choose from: U, small U, arena"):
        AntMaze("V")


def test_a_picture_shows_walls_goal_and_ant(mazes):
    task = mazes["U"]
    lying, standing = (task.picture(at_rest(task, x, 0.0)[0], np.float32([0, 16])) for x in (0.0, 4.0))
    assert lying.shape == (480, 480, 3) and lying.dtype == np.uint8
    scale = 480 / (24 + 2.4)

    def pixel(picture, x, y):
        return picture[round((21.2 - y) * scale), round((x + 5.2) * scale)].astype(int)

    def seen(picture, x, y, *colour):  # smoothing costs some
        return np.abs(pixel(picture, x, y) - colour).max() < 8

    wall, floor = (90, 90, 90), (255, 255, 255)
    assert all(seen(lying, *place, *wall) for place in ((4, 8), (-4.5, 0), (20.5, 10)))
    assert seen(lying, 14, 10, *floor) and seen(lying, -3, 13, 247, 223, 204)
    ant, elsewhere, circle = pixel(lying, 0, 0), pixel(standing, 4, 0), pixel(lying, 0, 17)
    assert ant[2] - ant[0] > 100 < elsewhere[2] - elsewhere[0] and pixel(standing, 0, 0).min() > 200
    assert circle[0] - circle[2] > 60  # orange
