"""How short names become long ones, and which modules go into the package."""

import ast

import pytest

from package.modules import code, contents, imported, is_script, reached, rewrite, table
from tests.package.project import ROOT

SHORT = '''"""Ω: as in `common.replay.protocol`, or "envs:Hand-v1"."""
import numpy, common.schedules as schedules
import commonplace
from common.replay import (
    samplers,
)
from   lab import options; from papers.ter.topological import TER
"envs:Idle-v0"
α = "ωω"; env = "envs:Hand-v1" if α else 'envs.throwing:Hand'
other = f"envs.throwing.vector:{α}Vector", f"{α}envs:{α}", f"envs:{α}-v{1}", rb"envs:Hand-v1"
common = [α]
common.sort(key="papers.ter.train".split)
text = "common", "envs", "papers are many", "the papers.", "lab/", r"envs(\\.\\w+)+", "envs/mujoco/assets/ant.xml"
def late():
    from adapters.torchrl import FromProtocol
    from .common import here
'''
LONG = '''"""Ω: as in `common.replay.protocol`, or "envs:Hand-v1"."""
import numpy, replaybook.common.schedules as schedules
import commonplace
from replaybook.common.replay import (
    samplers,
)
from   replaybook.lab import options; from replaybook.papers.ter.topological import TER
"envs:Idle-v0"
α = "ωω"; env = "replaybook.envs:Hand-v1" if α else 'replaybook.envs.throwing:Hand'
other = f"replaybook.envs.throwing.vector:{α}Vector", f"{α}envs:{α}", f"replaybook.envs:{α}-v{1}", rb"envs:Hand-v1"
common = [α]
common.sort(key="replaybook.papers.ter.train".split)
text = "common", "envs", "papers are many", "the papers.", "lab/", r"envs(\\.\\w+)+", "envs/mujoco/assets/ant.xml"
def late():
    from replaybook.adapters.torchrl import FromProtocol
    from .common import here
'''


def test_names_become_long_and_nothing_else_changes():
    assert rewrite(SHORT.encode(), "x.py").decode() == LONG
    assert rewrite(LONG.encode(), "x.py").decode() == LONG


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("import common.schedules", "x.py, line 2: write `import common.schedules as ...`, or `from`"),
        ("from \\\n common import networks", "x.py, line 2: common is not written where its statement begins"),
        ("env = 'en' 'vs:Hand-v1'", "x.py, line 2: envs:Hand-v1 is not written where its statement begins"),
    ],
)
def test_what_cannot_be_written_is_refused(line, message):
    with pytest.raises(ValueError) as error:
        rewrite(f"\n{line}\n".encode(), "x.py")
    assert str(error.value) == message


def test_what_goes_in():
    inside = set(contents(ROOT))
    assert {"common/replay/protocol.py", "envs/sokoban/game.py", "papers/ners/agents/sac.py", "adapters/torchrl.py",
            "lab/run/streams.py"} <= inside  # fmt: skip
    assert (
        not {"papers/ter/train.py", "papers/ter/evidence/claims.py", "lab/judge/claims.py", "lab/sweep/sweep.py"}
        & inside
    )
    places = [path for place in ("adapters", "common", "envs", "papers") for path in (ROOT / place).rglob("*.py")]
    left_out = {path for path in places if path.relative_to(ROOT).as_posix() not in inside}
    assert all("evidence" in path.parts or is_script(ast.parse(path.read_text())) for path in left_out)


def test_what_a_module_imports_as_it_is_loaded():
    tree = ast.parse("import a.b\nfrom c import d, e\nfrom . import f\ndef g():\n    import h\n")
    assert list(imported(tree)) == ["a.b", "c.d", "c.e"]


def test_what_the_names_of_the_top_need():
    """Each name stands with the third-party modules that it loads, or with one that brings the others."""
    names, extras, with_ = (table(ROOT, one) for one in ("NAMES", "EXTRAS", "WITH"))
    brought = {"stable_baselines3": {"torch", "gymnasium"}, "torchrl": {"torch", "tensordict"}}
    trees = code(ROOT)
    for name, module in names.items():
        files = reached(trees, [f"{module.replace('.', '/')}.py"])
        loaded = {word.partition(".")[0] for file in files for word in imported(trees[file])} & set(extras)
        said = {one for one in with_ if name in with_[one]}
        assert said <= loaded <= said.union(*(brought.get(one, ()) for one in said)), name
