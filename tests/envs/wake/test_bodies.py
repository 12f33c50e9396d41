"""Bodies in a flow: momentum is kept, a free body moves as the fluid does, and accelerates as theory has it."""

import math

import numpy as np
import pytest

from envs.wake.bodies import Ellipse, Obstacle, disc, half_disc
from envs.wake.solver import Flow

HALF_AXES = (0.5, 0.1)
AREA = math.pi * 0.05


def still(n: int = 16, **how) -> Flow:
    return Flow((4 * n, 4 * n), 1 / n, 1 / 400, 0.0, **how)


def momentum(flow: Flow, x: float, y: float) -> np.ndarray:
    """Along x and y, and angular about (x, y), of all the fluid."""
    rows, columns = np.arange(flow.u.shape[0]) - 2, np.arange(flow.u.shape[1]) - 2
    u, v, h = flow.u.astype(float), flow.v.astype(float), flow.h
    turning = (v * ((columns + 0.5) * h - x)).sum() - (u * ((rows + 0.5) * h - y)[:, None]).sum()
    return np.array([u.sum(), v.sum(), turning]) * h * h


@pytest.mark.parametrize("angle", [0.0, 0.7])
def test_fluid_and_ellipse_gain_what_pushes_it_and_nothing_else(angle):
    """In any flow, at any place between the cells: along x and y, and about its centre."""
    flow = Flow((64, 64), 1 / 16, 1 / 400)
    flow.u[2:-3, 3:-4] += np.random.default_rng(0).normal(0, 0.3, (64, 62))
    flow.predict(0.01)
    flow.project()
    body = Ellipse(flow, HALF_AXES, (2.03, 1.98), angle)
    push = np.array([0.3, -0.7, 0.2])
    for _ in range(5):
        flow.predict(flow.longest_step())
        u, v, _ = body.velocity
        centre = body.x + flow.dt * u, body.y + flow.dt * v
        before = momentum(flow, *centre)
        body.float(flow, push)
        assert (body.x, body.y) == pytest.approx(centre)
        np.testing.assert_allclose(momentum(flow, *centre) - before, push * flow.dt, atol=2e-6)
        flow.project()


def test_inside_it_the_fluid_moves_as_a_rigid_body():
    flow = still()
    body = Ellipse(flow, HALF_AXES, (2.0, 2.0), 0.4)
    flow.predict(0.01)
    body.float(flow, np.array([1.0, 2.0, 0.5]))
    u, v, turn = body.velocity
    assert min(abs(u), abs(v), abs(turn)) > 0.01
    points = np.array([[0.0, 0.0], [0.25, 0.0], [-0.25, 0.0]]) @ [[math.cos(0.4), math.sin(0.4)], [0, 1]]
    expected = np.stack([u - turn * points[:, 1], v + turn * points[:, 0]], axis=1)
    np.testing.assert_allclose(flow.velocity_at(points + [body.x, body.y]), expected, atol=0.02 * abs(turn))


def test_a_body_without_force_rests_in_fluid_at_rest():
    flow = still()
    body = Ellipse(flow, HALF_AXES, (2.03, 1.9), 0.3)
    for _ in range(50):
        flow.predict(flow.longest_step())
        body.float(flow, np.zeros(3))
        flow.project()
    assert (body.x, body.y, body.angle) == (2.03, 1.9, 0.3) and not body.velocity.any() and not flow.u.any()


def test_a_body_without_force_floats_with_a_uniform_flow_and_does_not_disturb_it():
    flow = Flow((96, 64), 1 / 16, 1 / 400)
    body = Ellipse(flow, HALF_AXES, (1.5, 2.0), 0.3)
    np.testing.assert_allclose(body.velocity, [1.0, 0.0, 0.0], atol=1e-6)
    for _ in range(80):
        flow.predict(0.0125)
        body.float(flow, np.zeros(3))
        flow.project()
    assert (body.x, body.y, body.angle) == pytest.approx((2.5, 2.0, 0.3), abs=1e-4)
    np.testing.assert_allclose(flow.u[2:-3], 1.0, atol=1e-5)


def test_pushed_it_accelerates_as_fast_as_with_the_added_mass_of_an_ellipse():
    """Of an inviscid fluid: pi b^2 along the axis a, pi a^2 along b, pi/8 (a^2 - b^2)^2 in turning (Lamb 1932, 71).

    Friction takes some of it along the axis; covered parts of cells make the body a little thicker.
    """
    a, b = HALF_AXES
    inertia = AREA * (a * a + b * b) / 4 + math.pi / 8 * (a * a - b * b) ** 2
    expected = 1 / (AREA + math.pi * b * b), 1 / (AREA + math.pi * a * a), 1 / inertia
    for axis, lowest in enumerate((0.75, 0.85, 0.8)):
        flow = still(32)
        body = Ellipse(flow, HALF_AXES, (2.0, 2.0), 0.0)
        for _ in range(8):
            flow.predict(0.05 / 8)
            body.float(flow, np.eye(3)[axis])
            flow.project()
        found = body.velocity / 0.05
        assert lowest < found[axis] / expected[axis] < 1.02
        others = np.delete(found / expected, axis)
        assert abs(others).max() < 0.02


def test_an_ellipse_covers_its_area():
    """Whatever its place and angle; the fluid in it is as heavy as it is."""
    rng = np.random.default_rng(0)
    for n, tolerance in ((16, 0.05), (32, 0.02)):
        for _ in range(10):
            flow = still(n)
            body = Ellipse(flow, HALF_AXES, tuple(rng.uniform(1.8, 2.2, 2)), rng.uniform(0, 3))
            body.float(flow, np.zeros(3))
            areas = body._cover.sum(axis=(1, 2)) / n**2
            np.testing.assert_allclose(areas, AREA, rtol=tolerance)


def test_an_obstacle_takes_the_momentum_of_the_fluid_in_it():
    flow = Flow((64, 64), 1 / 16, 1 / 400)
    cylinder = Obstacle(flow, disc, (2.0, 2.0))
    flow.predict(0.02)
    before = momentum(flow, 0, 0)
    force = cylinder.hold(flow)
    np.testing.assert_allclose(np.array(force) * 0.02, (before - momentum(flow, 0, 0))[:2], atol=1e-5)
    assert force[0] * 0.02 == pytest.approx(math.pi / 4, rel=0.01) and abs(force[1]) < 1e-3
    assert abs(flow.velocity_at(np.array([[2.0, 2.0], [1.7, 2.1]]))).max() == 0


def test_the_half_disc_lies_upstream_of_its_face():
    flow = Flow((64, 64), 1 / 16, 1 / 400)
    cylinder = Obstacle(flow, half_disc, (2.0, 2.0))
    assert cylinder.cover_u.sum() / 16**2 == pytest.approx(math.pi / 8, rel=0.02)
    points = [(1.8, 2.0, 1), (2.1, 2.0, 0), (1.6, 2.0, 1), (1.4, 2.0, 0), (1.9, 2.35, 1), (1.7, 2.45, 0)]
    for x, y, inside in points:
        assert cylinder.cover_u[round((y - 1 / 32) * 16) + 2, round(x * 16) + 2] == inside


def test_a_grid_too_coarse_and_bodies_out_of_it_are_named():
    with pytest.raises(ValueError, match=r"the grid is too coarse: the ellipse's half axis of 0\.1 spans 0\.8 cells"):
        Ellipse(still(8), HALF_AXES, (2.0, 2.0), 0.0)
    with pytest.raises(ValueError, match="does not fit into the flow"):
        Ellipse(still(16), (2.0, 0.2), (2.0, 2.0), 0.0)
    for place in ((0.5, 2.0), (2.0, 3.6), (30.0, 2.0)):
        with pytest.raises(ValueError, match="reaches beyond the flow"):
            Obstacle(still(), disc, place)


def test_a_body_that_leaves_the_flow_has_no_velocity():
    flow = still()
    body = Ellipse(flow, HALF_AXES, (2.0, 2.0), 0.0)
    body.put(flow, (50.0, 2.0), 0.0)
    assert np.isnan(body.velocity).all() and not flow.u.any()
