"""Drawn batches against the environment's observations and a plain Python twin; the tensor path against the kernel."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from common.pixels import SymbolicPixels, _draw_tensors
from envs.minigrid.tasks import SIZE, TASKS, MiniGridTask


def by_hand(tiles: np.ndarray, codes: np.ndarray, size: int) -> np.ndarray:
    """Paint the whole picture tile by tile, then pick the nearest pixels: float32 (3, size, size)."""
    side, (rows, columns) = tiles.shape[1], codes.shape
    picture = np.zeros((rows * side, columns * side, 3), np.uint8)
    for row in range(rows):
        for column in range(columns):
            picture[row * side : (row + 1) * side, column * side : (column + 1) * side] = tiles[codes[row, column]]
    out = np.zeros((3, size, size), np.float32)
    for i in range(size):
        for j in range(size):
            out[:, i, j] = picture[i * rows * side // size, j * columns * side // size] / np.float32(255)
    return out


def by_tensors(pixels: SymbolicPixels, codes: np.ndarray) -> torch.Tensor:
    """The path of devices other than the CPU, taken on the CPU."""
    cell, within, colors = (torch.from_numpy(a) for a in (pixels.cell, pixels.within, pixels.colors))
    drawn = _draw_tensors(torch.from_numpy(codes.reshape(len(codes), -1)), cell, within, pixels.per_tile, colors)
    return drawn.view(len(codes), pixels.size, pixels.size, 3).permute(0, 3, 1, 2)


def played(task: str, steps: int = 150) -> tuple[MiniGridTask, np.ndarray, np.ndarray]:
    """Frames and codes of random play."""
    env, rng = MiniGridTask(task), np.random.default_rng(0)
    frame, info = env.reset(seed=0)
    frames, codes = [frame], [info["tiles"]]
    for _ in range(steps):
        frame, _, terminated, truncated, info = env.step(int(rng.integers(env.action_space.n)))
        if terminated or truncated:
            frame, info = env.reset()
        frames.append(frame)
        codes.append(info["tiles"])
    return env, np.stack(frames), np.stack(codes)


@pytest.mark.parametrize("task", TASKS)
def test_drawn_frames_are_the_observations(task):
    env, frames, codes = played(task)
    drawn = SymbolicPixels(env.tiles, env.grid_shape, SIZE).draw(codes)
    expected = torch.from_numpy(frames).permute(0, 3, 1, 2).float() / 255  # what a network is fed from stored frames
    assert drawn.dtype == torch.float32
    assert torch.equal(drawn, expected)
    assert 0.0 <= drawn.min() < drawn.max() <= 1.0


@settings(deadline=None, max_examples=25)
@given(st.data())
def test_kernel_and_tensors_against_plain_python(data):
    rows, columns, size = (data.draw(st.integers(1, limit)) for limit in (5, 5, 12))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    n_codes, side, batch = (data.draw(st.integers(1, limit)) for limit in (256, 4, 3))
    tiles = rng.integers(256, size=(n_codes, side, side, 3), dtype=np.uint8)
    codes = rng.integers(n_codes, size=(batch, rows, columns)).astype(np.uint8)
    pixels = SymbolicPixels(tiles, (rows, columns), size)
    drawn = pixels.draw(codes)
    assert drawn.shape == (len(codes), 3, size, size)
    for picture, code in zip(drawn, codes):
        np.testing.assert_array_equal(picture.numpy(), by_hand(tiles, code, size))
    assert torch.equal(by_tensors(pixels, codes), drawn)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_cuda_equals_the_kernel():
    for task in TASKS:
        env, _, codes = played(task, 60)
        there = SymbolicPixels(env.tiles, env.grid_shape, SIZE, "cuda").draw(codes)
        assert there.device.type == "cuda"
        assert torch.equal(there.cpu(), SymbolicPixels(env.tiles, env.grid_shape, SIZE).draw(codes))


def test_batches_are_channels_last_and_codes_may_be_slices():
    env, _, codes = played("SimpleCrossing-Hard", 20)
    pixels = SymbolicPixels(env.tiles, env.grid_shape, SIZE)
    assert pixels.draw(codes).is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(pixels.draw(codes[::3]), pixels.draw(codes)[::3])  # not contiguous
    assert torch.equal(pixels.draw(codes[5][None])[0], pixels.draw(codes)[5])  # a batch of one
