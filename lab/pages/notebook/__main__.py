"""Write a paper's notebook and execute it.

    .venv/bin/python -m lab.pages.notebook ter                   into site/notebooks/ter.ipynb, executed: some minutes
    .venv/bin/python -m lab.pages.notebook ter --scale smoke     with runs of seconds: is everything wired?
    .venv/bin/python -m lab.pages.notebook ter --no-execute      without results, for Jupyter

What it shows stands in the room: "The idea" of its README, entries of its EQUATIONS.md, and the code, commands and
pictures that evidence/notebook.py names.
"""

import importlib
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from tyro.conf import Positional

from lab.arguments import parse
from lab.errors import UserError, guard
from lab.rooms import ROOT, House, Paper, choose

SCALES = ("smoke", "quick")
START = """import inspect, os, subprocess, sys

from IPython.display import Code, Image

os.chdir({root!r})
sys.path.insert(0, os.getcwd())"""
RUN = """done = subprocess.run([sys.executable, *{command!r}.split()], capture_output=True, text=True)
print(*(done.stdout if done.returncode == 0 else done.stderr).splitlines()[-3:], sep="\\n")
assert done.returncode == 0"""


@dataclass(frozen=True)
class Options:
    """Write a notebook about a paper: idea, equation, code, a run of some minutes and its figure."""

    paper: Positional[str]
    """A paper."""
    scale: str = "quick"
    """quick: runs of some minutes. smoke: of seconds, which show nothing but that all is wired."""
    execute: bool = True
    """Run it, so that results and pictures are in it."""
    out: Path = ROOT / "site" / "notebooks"
    """Folder that it is written into."""


def spec_of(paper: Paper) -> ModuleType:
    """The room's evidence/notebook.py: EQUATIONS, headings of EQUATIONS.md; CODE, "module:object"s; ABOUT, what is run
    and what it cannot show; COMMANDS, scale -> arguments of python that run it; PICTURES, what they draw, with {scale}.
    UserError where there is none."""
    name = f"{paper.house.package}.{paper.name}.evidence.notebook"
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise UserError(f"{paper.name} has no notebook: {name} is missing") from None


def section(text: str, heading: str) -> str:
    """A section of a Markdown file, its heading included. UserError where it has none of that name."""
    found = re.search(rf"^(## {re.escape(heading)}\n.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    if found is None:
        raise UserError(f"there is no section {heading!r}")
    return found[1].strip()


def without_links(text: str) -> str:
    """Links to files become their text: a notebook lies elsewhere."""
    return re.sub(r"!?\[([^\]]*)\]\((?!https?:)[^)]*\)", r"\1", text)


def cells_of(paper: Paper, scale: str) -> list[tuple[str, str]]:
    """("markdown" or "code", text) of every cell."""
    spec = spec_of(paper)
    readme = (paper.folder / "README.md").read_text(encoding="utf-8")
    equations = (paper.folder / "EQUATIONS.md").read_text(encoding="utf-8")
    cells = [
        ("markdown", readme.partition("\n")[0] + "\n\n" + without_links(section(readme, "The idea"))),
        ("code", START.format(root=str(paper.house.root))),
        ("markdown", "\n\n".join(without_links(section(equations, heading)) for heading in spec.EQUATIONS)),
    ]  # fmt: skip
    for place in spec.CODE:
        module, _, name = place.partition(":")
        first = name.partition(".")[0]
        cells.append(("markdown", f"`{name}`, in `{module.replace('.', '/')}.py`:"))
        cells.append(("code", f'from {module} import {first}\n\nCode(inspect.getsource({name}), language="python")'))
    cells.append(("markdown", f"## A run\n\n{spec.ABOUT}"))
    cells += [("code", RUN.format(command=command)) for command in spec.COMMANDS[scale]]
    cells += [("code", f"Image({picture.format(scale=scale)!r})") for picture in spec.PICTURES]
    return cells


def notebook(paper: Paper, scale: str) -> Any:
    """The notebook, not executed."""
    import nbformat

    found = nbformat.v4.new_notebook(metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}})
    kinds = {"markdown": nbformat.v4.new_markdown_cell, "code": nbformat.v4.new_code_cell}
    for number, (kind, text) in enumerate(cells_of(paper, scale)):
        cell = kinds[kind](text)
        cell["id"] = f"cell-{number}"  # not a random one: the same notebook is the same file
        found.cells.append(cell)
    return found


@guard
def main(argv: list[str] | None = None, house: House | None = None) -> int:
    options = parse(Options, argv, prog=".venv/bin/python -m lab.pages.notebook")
    papers = (house or House()).papers()
    paper, scale = papers[choose("paper", options.paper, papers)], choose("scale", options.scale, SCALES)
    try:
        import nbformat
        from nbclient import NotebookClient
        from nbclient.exceptions import CellExecutionError
        from traitlets.config import Config
    except ImportError as error:
        raise UserError(f"{error.name} is missing: .venv/bin/pip install --group notebook") from None
    made, path = notebook(paper, scale), options.out / f"{paper.name}.ipynb"
    try:
        options.out.mkdir(parents=True, exist_ok=True)
        if options.execute:
            print(f"executing {path.name}, at {scale}", flush=True)
            local = Config({"ConnectionFileMixin": {"transport": "ipc"}})  # TCP would be open to the machine
            NotebookClient(made, kernel_name="python3", timeout=None, config=local).execute()
        nbformat.write(made, path)
    except CellExecutionError as error:
        raise UserError(f"a cell failed: {str(error).strip().splitlines()[-1]}") from None
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}; choose another --out") from None
    print(f"written: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
