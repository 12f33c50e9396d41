"""The flow against exact solutions of the Navier-Stokes equations, and what a grid must keep."""

import numpy as np
import pytest

from envs.wake.solver import Flow


def step(flow: Flow, dt: float | None = None) -> None:
    flow.predict(dt or flow.longest_step())
    flow.project()


def divergence(flow: Flow) -> np.ndarray:
    """[ny, nx], by the definition."""
    nx, ny = flow.cells
    u, v = flow.u[2 : ny + 2, 2 : nx + 3].astype(float), flow.v[2 : ny + 3, 2 : nx + 2].astype(float)
    return (np.diff(u, axis=1) + np.diff(v, axis=0)) / flow.h


def shaken(cells=(64, 32), **how) -> Flow:
    flow = Flow(cells, 1 / 16, 1 / 400, **how)
    flow.u[2:-3, 3:-4] += np.random.default_rng(0).normal(0, 0.2, (cells[1], cells[0] - 2))
    flow.v[3:-3, 2:-3] += np.random.default_rng(1).normal(0, 0.2, (cells[1] - 1, cells[0]))
    return flow


@pytest.mark.parametrize("friction", [False, True])
def test_no_divergence_is_left_and_as_much_flows_out_as_in(friction):
    flow = shaken(friction=friction)
    for _ in range(20):
        step(flow)
        assert abs(divergence(flow)).max() < 1e-5 / flow.h
        assert flow.u[2:-3, -3].mean() == pytest.approx(1.0, abs=1e-6)
        assert np.isfinite(flow.u).all() and not flow.v[[2, -3]].any()
    assert abs(flow.v).max() > 0.02


def test_what_only_a_pressure_can_have_made_is_taken_off():
    """The gradient of any pressure is the part with divergence: nothing is left of it."""
    flow = Flow((24, 16), 0.25, 0.1, inflow=0.0)
    pressure = np.random.default_rng(0).normal(size=(16, 24))
    flow.dt = 0.5
    flow.u[2:-3, 3:-3] = 0.5 / 0.25 * np.diff(pressure, axis=1)
    flow.v[3:-3, 2:-3] = 0.5 / 0.25 * np.diff(pressure, axis=0)
    flow.project()
    np.testing.assert_allclose(flow.u[2:-3, 2:-2], 0, atol=2e-5)
    np.testing.assert_allclose(flow.v[2:-2, 2:-3], 0, atol=2e-5)
    np.testing.assert_allclose(flow.p, pressure - pressure.mean(), atol=2e-5)


def test_a_uniform_flow_stays_so_and_a_fluid_at_rest_rests():
    for inflow in (1.0, 0.0):
        flow = Flow((32, 16), 1 / 16, 1 / 400, inflow)
        for _ in range(30):
            step(flow)
        np.testing.assert_allclose(flow.u[2:-3], inflow, atol=1e-6)
        assert abs(flow.v).max() < 1e-6


def test_a_channel_keeps_its_parabola_and_pays_for_it_in_pressure():
    """Poiseuille: u = 6 y (1 - y) for a width of 1, dp/dx = -12 nu."""
    nu, n = 0.05, 32
    y = (np.arange(n) + 0.5) / n
    flow = Flow((2 * n, n), 1 / n, nu, 6 * y * (1 - y), friction=True)
    for _ in range(400):
        step(flow)
    np.testing.assert_allclose(flow.u[2:-3, 2 + n], 6 * y * (1 - y), atol=0.015)
    slope = (flow.p[:, 3 * n // 2] - flow.p[:, n // 2]).mean()
    assert slope == pytest.approx(-12 * nu, rel=0.03)


def taylor_vortex(x, y, age, nu):
    """Velocity along x and y of Taylor's decaying vortex around the origin, an exact solution; at most 1 at age 20."""
    swirl = 1 / age**2 * np.exp(-(x * x + y * y) / (4 * nu * age))
    scale = 20**2 / (np.sqrt(2 * nu * 20) * np.exp(-0.5))
    return -y * swirl * scale, x * swirl * scale


@pytest.mark.parametrize(("n", "tolerance"), [(16, 0.04), (32, 0.006)])
def test_a_vortex_is_carried_along_and_decays(n, tolerance):
    """Over 1.5 of its radii of 0.45 four times over; errors fall at least fourfold with half the cells' side."""
    nu, h = 1 / 200, 1 / n
    flow = Flow((6 * n, 4 * n), h, nu)
    x, y = np.arange(6 * n + 1) * h - 1.7, np.arange(4 * n + 1) * h - 2.0
    centre_x, centre_y = x[:-1] + h / 2, y[:-1] + h / 2
    amplitude = 0.5
    flow.u[2:-3, 2:-2] += amplitude * taylor_vortex(x, centre_y[:, None], 20.0, nu)[0]
    flow.v[2:-2, 2:-3] += amplitude * taylor_vortex(centre_x, y[:, None], 20.0, nu)[1]
    time = 0.0
    while time < 2.0 - 1e-9:
        dt = min(flow.longest_step(), 2.0 - time)
        step(flow, dt)
        time += dt
    u = 1.0 + amplitude * taylor_vortex(x - 2.0, centre_y[:, None], 22.0, nu)[0]
    v = amplitude * taylor_vortex(centre_x - 2.0, y[:, None], 22.0, nu)[1]
    assert abs(flow.u[2:-3, 2:-2] - u).max() < tolerance
    assert abs(flow.v[2:-2, 2:-3] - v).max() < tolerance


def test_a_mirrored_start_gives_the_mirrored_flow():
    flow, mirrored = shaken(), Flow((64, 32), 1 / 16, 1 / 400)
    step(flow)
    mirrored.restore(flow.state(), mirrored=True)
    np.testing.assert_array_equal(mirrored.u[2:-3], flow.u[2:-3][::-1])
    for _ in range(40):
        dt = flow.longest_step()
        step(flow, dt)
        step(mirrored, dt)
    np.testing.assert_allclose(mirrored.u[2:-3], flow.u[2:-3][::-1], atol=1e-4)
    np.testing.assert_allclose(mirrored.v[2:-2], -flow.v[2:-2][::-1], atol=1e-4)
    np.testing.assert_allclose(mirrored.p, flow.p[::-1], atol=1e-3)


def test_a_restored_flow_goes_on_bit_for_bit():
    flow = shaken()
    for _ in range(3):
        step(flow)
    state = flow.state()
    for _ in range(5):
        step(flow)
    end = flow.u.copy()
    flow.restore(state)
    for _ in range(5):
        step(flow)
    np.testing.assert_array_equal(flow.u, end)


def test_velocities_between_the_grids_points():
    """Linear in x and y: exact."""
    flow = Flow((16, 12), 0.5, 0.1)
    x, y = np.arange(21) * 0.5 - 1.0, (np.arange(17) * 0.5 - 1.0)[:, None]
    flow.u[:], flow.v[:] = 2 * x - (y + 0.25), (x + 0.25) + 3 * y
    points = np.array([[2.3, 1.1], [0.0, 0.0], [7.9, 5.9]])
    expected = np.stack([2 * points[:, 0] - points[:, 1], points[:, 0] + 3 * points[:, 1]], axis=1)
    np.testing.assert_allclose(flow.velocity_at(points), expected, rtol=1e-5)
    assert np.isfinite(flow.velocity_at(np.array([[-50.0, 90.0]]))).all()


def test_the_vorticity_of_a_rotation_is_twice_its_rate():
    flow = Flow((12, 10), 0.5, 0.1)
    x, y = np.arange(17) * 0.5, (np.arange(15) * 0.5)[:, None]
    flow.u[:], flow.v[:] = -1.5 * (y + 0.25), 1.5 * (x + 0.25)
    np.testing.assert_allclose(flow.vorticity(), np.full((9, 11), 3.0), rtol=1e-5)


@pytest.mark.parametrize(("how", "message"), [
    (dict(cells=(4, 16)), "at least 8 x 8 cells"),
    (dict(h=0.0), "must be positive"),
    (dict(viscosity=-0.1), "must be positive"),
    (dict(viscosity=float("nan")), "must be positive"),
    (dict(courant=0.9), "a Courant number of 0.9 makes the time step unstable"),
    (dict(courant=0.0), "unstable"),
], ids=str)  # fmt: skip
def test_flows_that_cannot_work(how, message):
    with pytest.raises(ValueError, match=message):
        Flow(**{"cells": (32, 16), "h": 0.1, "viscosity": 0.01} | how)


def test_the_time_step_is_bounded_by_advection_and_by_diffusion():
    assert Flow((32, 16), 0.1, 1e-9, 2.0).longest_step() == pytest.approx(0.4 * 0.1 / 2)
    assert Flow((32, 16), 0.1, 1e6, 2.0).longest_step() == pytest.approx(0.1 * 0.01 / 1e6)


@pytest.mark.parametrize("nu", [0.3, 0.02, 0.005])
def test_the_longest_step_damps_the_shortest_waves(nu):
    """A saw-tooth across a stream, the worst that a grid can hold, dies out whatever damps it."""
    flow = Flow((32, 16), 0.1, nu, 1.0)
    flow.u[2:-3, 6:-6] += 0.1 * (-1.0) ** np.arange(16)[:, None]
    flow.v[3:-3, 6:-6] += 0.1 * (-1.0) ** np.arange(25)
    heights = []
    for _ in range(60):
        step(flow)
        heights.append(abs(np.diff(flow.u[2:-3, 8:20], axis=0)).max())
    assert heights[-1] < 0.2 * heights[0] and max(heights[5:]) <= 1.01 * max(heights[:5])
