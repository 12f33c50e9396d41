"""A training script in small, for the tests of runs and sweeps: every kind of state that a real one has."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn

from common.replay.storage import announce
from lab.run.cli import cli
from lab.run.runs import Run, Streams


@dataclass(frozen=True)
class Config:
    """Fits a line to noise, with a replay of everything seen."""

    env: str = "Line"
    """What is fitted."""
    method: Literal["plain", "raises", "dies", "diverges", "starves"] = "plain"
    """plain learns; the others come to grief half-way, each in its own manner."""
    seed: int = 0
    """Seed of all random streams."""
    steps: int = 60
    """Updates in all."""
    evaluate_every: int = 5
    """Updates between evaluations, and checkpoints."""
    learning_rate: float = 1e-2
    """Step size of Adam."""
    device: str = "cpu"
    """Where it claims to learn."""
    pause: float = 0.0
    """Seconds to sleep per update, to be slow enough for a test, until there is a file `hurry` beside the run."""


def fresh_state(config: Config) -> dict[str, Any]:
    streams = Streams(config.seed)
    torch.manual_seed(streams.integer("network"))
    network = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    return {
        "step": 0,
        "config": config,
        "network": network,
        "optimiser": torch.optim.Adam(network.parameters(), lr=config.learning_rate, fused=True),
        "data": streams.numpy("data"),
        "noise": streams.torch("noise"),
        "replay": [],
        "loss": float("nan"),  # of the last update; the run may go on from a checkpoint with no update left
    }


def main(config: Config, run_dir: Path, **how: bool) -> dict[str, Any]:
    run = Run.open(config, run_dir, total_steps=config.steps, **how)
    with run:
        if run.finished is not None:
            return run.finished
        if config.method == "starves":
            announce(10**15, {"number": ((), "u1")})
        if config.device == "cuda":
            print(f"GPU {os.environ.get('CUDA_VISIBLE_DEVICES')}", flush=True)
        state = run.load() or fresh_state(config)
        network, optimiser, replay = state["network"], state["optimiser"], state["replay"]
        print(f"{config.method} starts at step {state['step']}")
        while state["step"] < config.steps:
            state["step"] += 1
            replay.append(state["data"].normal(size=3).astype("float32"))
            x = torch.from_numpy(replay[int(state["data"].integers(len(replay)))])
            target = x.sum() + 0.1 * torch.randn((), generator=state["noise"])
            loss = (network(x).squeeze() - target) ** 2
            if config.method == "diverges" and state["step"] > config.steps // 2:
                loss = loss * float("nan")
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            state["loss"] = loss.item()
            if not (run_dir.parent / "hurry").exists():
                time.sleep(config.pause)
            if state["step"] % config.evaluate_every == 0:
                run.check_finite(state["step"], loss=loss)
                run.log(state["step"], {"loss": state["loss"], "replay": len(replay)})
                run.save(state)
                run.tick(state["step"], loss=state["loss"])
            if config.method in ("raises", "dies") and state["step"] > config.steps // 2:
                if config.method == "raises":
                    raise ZeroDivisionError("the toy was told to fail")
                os.kill(os.getpid(), signal.SIGKILL)
        return run.finish({"loss": state["loss"], "steps": config.steps}, network.state_dict())


if __name__ == "__main__":
    cli(Config, main, "Toy for the tests.")
