"""README.md: its examples run, and so do the two scripts, which differ by the patch that it shows for CleanRL's."""

import ast
import difflib
import re
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import torch
import torch.nn.functional as F

from adapters import sokoban_sb3
from adapters.stable_baselines3 import SampledDQN
from common.replay.not_in_the_papers.large_batch import LaBER
from package.modules import NAME, ROOTS, table

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ("cleanrl_dqn", "cleanrl_dqn_ter")


@pytest.mark.parametrize("name", SCRIPTS)
def test_it_runs(name):
    command = [sys.executable, "-m", f"adapters.{name}", "--total-timesteps", "1200"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("mean return of the last ")


def patch() -> str:
    """What README.md shows for CleanRL's dqn.py."""
    return (ROOT / "adapters" / "README.md").read_text().partition("```diff\n")[2].partition("```")[0]


def test_the_patch_is_the_difference_of_both_scripts():
    one, other = ((ROOT / "adapters" / f"{name}.py").read_text().partition("@dataclass")[2] for name in SCRIPTS)
    difference = difflib.unified_diff(one.splitlines(), other.splitlines(), n=0, lineterm="")
    changed = [line for line in difference if not line.startswith(("---", "+++", "@@"))]
    imports, *hunks = re.split(r"^@@.*\n", patch(), flags=re.MULTILINE)[1:]
    assert [line for line in "".join(hunks).splitlines() if line[0] in "+-"] == changed
    added = "\n".join(line[1:] for line in imports.splitlines() if line[0] == "+")
    script = (ROOT / "adapters" / "cleanrl_dqn_ter.py").read_text()
    assert origins(added) == {name: of for name, of in origins(script).items() if of.partition(".")[0] in ROOTS}


def origins(source: str) -> dict[str, str]:
    """Names that are imported -> the modules that they are from, as this repository calls them."""
    tops, found = table(ROOT, "NAMES"), {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.ImportFrom):
            module = node.module.removeprefix(f"{NAME}.")
            found |= {one.name: tops[one.name] if module == NAME else module for one in node.names}
    return found


PUBLIC = ["from cleanrl_utils.buffers import ReplayBuffer", "loss = F.mse_loss(td_target, old_val)"]
"""Lines of CleanRL's dqn.py at the commit that README.md links to."""


def test_the_patch_replaces_lines_of_cleanrl_and_can_be_applied(tmp_path):
    assert [line[1:].strip() for line in patch().splitlines() if re.match("-[^-]", line)] == PUBLIC
    # A file with the lines that the patch names at the places that it names, and something else everywhere else.
    hunks = re.findall(r"^@@ -(\d+),\d+ .*@@\n((?:[ +-].*\n|\n)*)", patch(), re.MULTILINE)
    lines = ["other"] * 240
    for start, hunk in hunks:
        old = [line[1:] for line in hunk.splitlines() if line[:1] != "+"]
        lines[int(start) - 1 : int(start) - 1 + len(old)] = old
    file = tmp_path / "cleanrl" / "dqn.py"
    file.parent.mkdir()
    file.write_text("\n".join(lines) + "\n")
    command = ["git", "apply", "-"]
    done = subprocess.run(command, cwd=tmp_path, input=patch(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(file.read_text().splitlines()) == 240 + patch().count("\n+") - 1 - len(PUBLIC)  # less "+++ b/..."


def test_the_settings_of_the_runs_on_sokoban():
    sampler = sokoban_sb3.make_agent("ter", 0, {"buffer_size": 99}).replay_buffer.sampler
    assert (sampler.eta, sampler.roots, sampler.predecessors, sampler.prioritized.clip) == (0.1, 8, 3, 1.0)


EXAMPLES = re.findall(r"```python\n(.*?)```", (ROOT / "adapters" / "README.md").read_text(), re.DOTALL)
EXAMPLES = [example for example in EXAMPLES if "minari" not in example]  # that one is in test_minari.py


def test_laber_of_the_table_draws_by_the_gradients_of_dqns_loss():
    """Then all members of a batch, weighted, have gradients of one size: none has a smaller variance."""
    [line] = re.findall(r"`(def laber\(.*)`: S", (ROOT / "adapters" / "README.md").read_text())
    exec(line, scope := {"LaBER": LaBER, "rng": np.random.default_rng(0)})
    env = gymnasium.wrappers.TransformReward(gymnasium.make("CartPole-v1"), lambda reward: 3.0 * reward)
    agent = SampledDQN("MlpPolicy", env, make_sampler=scope["laber"], learning_starts=50, seed=0, device="cpu")
    agent.learn(90)
    batch = agent.replay_buffer.draw(64)
    q = agent.q_of(batch)
    loss = F.smooth_l1_loss(q, agent.target_of(batch).detach(), reduction="sum")
    sizes = (batch.weights * torch.autograd.grad(loss, q)[0].abs()).flatten().tolist()
    assert agent.errors(batch).max() > 2.0
    np.testing.assert_allclose(sizes, np.mean(sizes), rtol=1e-3)


@pytest.mark.parametrize("example", EXAMPLES, ids=["stable-baselines3", "torchrl"])
def test_an_example_runs(example):
    exec(compile(example, "adapters/README.md", "exec"), {})
