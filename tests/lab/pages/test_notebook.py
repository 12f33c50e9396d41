"""Notebooks: every room's can be made and its code runs; one is executed as a user would."""

import ast
import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from lab.pages.html import sections, title, without_links
from lab.pages.notebook import cells_of, main, notebook, spec_of
from lab.rooms import House

ROOT = Path(__file__).resolve().parents[3]
PAPERS = House().papers()


@pytest.mark.parametrize("name", PAPERS)
@pytest.mark.parametrize("scale", ["smoke", "quick"])
def test_every_room_has_one(name, scale):
    cells = cells_of(PAPERS[name], scale)
    words = " ".join(text for kind, text in cells if kind == "markdown")
    code = [text for kind, text in cells if kind == "code"]
    assert "## The idea" in words and ("## Eq. (" in words or "## Algorithm" in words)
    assert "](" not in words.replace("](http", "")
    for text in code:
        ast.parse(text)
    for place in spec_of(PAPERS[name]).code:
        module, _, path = place.partition(":")
        found = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    assert code[-1].startswith("Image('runs/") and scale in code[-1]
    made = notebook(PAPERS[name], scale)
    assert json.dumps(made) == json.dumps(notebook(PAPERS[name], scale))  # the same each time


def test_one_is_executed(tmp_path):
    command = [sys.executable, "-m", "lab.pages.notebook", "ter", "--scale", "smoke", "--out", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    cells = json.loads((tmp_path / "ter.ipynb").read_text())["cells"]
    outputs = [output for cell in cells if cell["cell_type"] == "code" for output in cell["outputs"]]
    assert sum("image/png" in output.get("data", {}) for output in outputs) == 2
    assert any("Algorithm 1, line 7" in str(output) for output in outputs)


@pytest.mark.parametrize(
    ("words", "message"),
    [(["tre"], "unknown paper 'tre', did you mean ter"), (["ter", "--scale", "full"], "unknown scale 'full'")],
)
def test_mistakes_cost_one_line(words, message, one_line):
    assert message in one_line(main, words)


def test_parts_of_a_page():
    text = "# A\n\n## The idea\n\nsee [here](x.py) and [there](https://a.b)\n\n## Next\n\nmore\n"
    parts = sections(text)
    assert list(parts) == ["", "The idea", "Next"] and parts["Next"].strip() == "more" and title(text) == "A"
    assert without_links(parts["The idea"]).strip() == "see here and [there](https://a.b)"
