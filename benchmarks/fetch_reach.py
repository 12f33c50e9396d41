"""Train on a task that is not ours: FetchReach of gymnasium-robotics, with and without hindsight.

    python -m benchmarks.fetch_reach [EPOCHS]

Prints the success rate of 100 greedy episodes after every epoch (10,000 environment steps), and a summary. Not part of
`make bench`. The numbers in the room's notebook were made on MuJoCo 3.11; the protocol of HER's authors is
papers/bias_reduced_her/train_fetch.py.

Success means being at the goal when time runs out; episodes never end early. Goals have three dimensions, so IBS, whose
grid has two, does not apply.
"""

import contextlib
import io
import sys
import time

import torch

from envs import fetch
from lab.run.errors import UserError, guard
from papers.bias_reduced_her.train import Config, Trainer

ENV = "FetchReach-v4"
VARIANTS = {  # the paper's agent has no penalty on actions; HER's own code does
    "her, action penalty 1": dict(method="her", action_penalty=1.0),
    "none, action penalty 1": dict(method="none", action_penalty=1.0),
    "her": dict(method="her"),
}
EPOCHS = 3


@guard
def main(arguments: list[str]) -> None:
    """Train the variants one after another, and print their success rates."""
    epochs = _epochs(arguments)
    register()
    torch.set_num_threads(1)
    finals = {}
    for name, settings in VARIANTS.items():
        config = Config(env=ENV, epochs=epochs, end_at_success=False, **settings)  # type: ignore[arg-type]
        finals[name] = train(config, name)
    print("after the last epoch: " + "; ".join(f"{name}: {success:.0%}" for name, success in finals.items()))


def _epochs(arguments: list[str]) -> int:
    if len(arguments) > 1 or not all(a.isdecimal() and int(a) > 0 for a in arguments):
        raise UserError(f"give at most one number of epochs, 1 or more, not {' '.join(arguments)!r}")
    return int(arguments[0]) if arguments else EPOCHS


def register() -> None:
    """Register gymnasium-robotics's tasks with gymnasium. UserError if they are missing."""
    try:
        fetch.prepare()
    except ModuleNotFoundError as error:
        raise UserError(str(error)) from None


def train(config: Config, name: str) -> float:
    """Train as `config` says, print a line per epoch that begins with `name`, and return the last success rate."""
    with contextlib.redirect_stdout(io.StringIO()):  # the size of its memory
        trainer = Trainer(config)
    success = 0.0
    for epoch in range(1, config.epochs + 1):
        begin = time.perf_counter()
        for _ in range(config.cycles):
            trainer.cycle()
        metrics = trainer.evaluate()
        success = metrics["success"]
        print(
            f"{name}: epoch {epoch:2}: success {success:4.0%}, distance {metrics['distance']:.3f} m "
            f"({trainer.steps_done:,} steps, {time.perf_counter() - begin:.0f} s)",
            flush=True,
        )
    return success


if __name__ == "__main__":
    main(sys.argv[1:])
