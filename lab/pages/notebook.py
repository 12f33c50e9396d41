"""Write a paper's notebook and execute it.

    .venv/bin/python -m lab.pages.notebook ter                   into site/notebooks/ter.ipynb, executed: some minutes
    .venv/bin/python -m lab.pages.notebook ter --scale smoke     with runs of seconds, to test the wiring

Its content comes from the room: "The idea" of its README, entries of its EQUATIONS.md, and what NOTEBOOK in its
evidence/notebook.py names.
"""

import importlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tyro.conf import Positional

from lab.pages.html import sections, title, without_links
from lab.rooms import ROOT, House, Paper, choose
from lab.run.arguments import parse
from lab.run.errors import UserError, guard

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
    """quick: runs of some minutes. smoke: runs of seconds, which only test the wiring."""
    out: Path = ROOT / "site" / "notebooks"
    """Folder to write it to."""


@dataclass(frozen=True)
class Notebook:
    """What a room's notebook shows: equations, code, a figure with its runs, short runs of two methods compared."""

    equations: Sequence[str]
    """Headings of EQUATIONS.md."""
    code: Sequence[str]
    """As "module:object"."""
    about: str
    """Text: what is run, and what it cannot show."""
    figure: str = ""
    seeds: str = ""
    """Seeds of the figure's quick runs, if not all."""
    train: str = ""
    """Script and options of the runs to compare, up to the option in which they differ."""
    methods: Sequence[str] = ()
    """Values of that option."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Scale -> more options."""
    metrics: str = ""
    """Metrics to compare, if not all."""

    def cells(self, paper: str, scale: str) -> list[str]:
        """Code that trains and draws."""
        commands, pictures, place = [], [], f"runs/notebook/{scale}"
        if self.figure:
            seeds = f" --seeds {self.seeds}" if self.seeds and scale == "quick" else ""
            commands.append(f"-m lab run {paper} {self.figure} --scale {scale}{seeds}")
            pictures.append(f"runs/figures/{paper}/{scale}/{self.figure}.png")
        for method in self.methods:
            options = f"{method} --no-progress {self.settings[scale]}"
            commands.append(f"-m {self.train} {options} --run-dir {place}/{method}")
        if self.methods:
            sides = " ".join(f"{place}/{method}" for method in self.methods)
            metrics = f"--metrics {self.metrics} " if self.metrics else ""
            commands.append(f"-m lab compare {sides} {metrics}--out {place}/{paper}.png")
            pictures.append(f"{place}/{paper}.png")
        return [RUN.format(command=command) for command in commands] + [f"Image({path!r})" for path in pictures]


def spec_of(paper: Paper) -> Notebook:
    """The room's description of its notebook."""
    return importlib.import_module(f"{paper.house.package}.{paper.name}.evidence.notebook").NOTEBOOK


def cells_of(paper: Paper, scale: str) -> list[tuple[str, str]]:
    """("markdown" or "code", text) of every cell."""
    spec = spec_of(paper)
    readme, equations = ((paper.folder / name).read_text(encoding="utf-8") for name in ("README.md", "EQUATIONS.md"))
    idea, formulas = sections(readme)["The idea"], sections(equations)
    cells = [
        ("markdown", without_links(f"# {title(readme)}\n\n## The idea\n{idea}")),
        ("code", START.format(root=str(paper.house.root))),
        ("markdown", without_links("\n".join(f"## {name}\n{formulas[name]}" for name in spec.equations))),
    ]
    for place in spec.code:
        module, _, name = place.partition(":")
        first = name.partition(".")[0]
        cells.append(("markdown", f"`{name}`, in `{module.replace('.', '/')}.py`:"))
        cells.append(("code", f'from {module} import {first}\n\nCode(inspect.getsource({name}), language="python")'))
    cells.append(("markdown", f"## A run\n\n{spec.about}"))
    return cells + [("code", text) for text in spec.cells(paper.name, scale)]


def notebook(paper: Paper, scale: str) -> Any:
    """The notebook, not executed."""
    import nbformat

    kinds = {"markdown": nbformat.v4.new_markdown_cell, "code": nbformat.v4.new_code_cell}
    cells = [  # ids are not random, so the same notebook is the same file
        kinds[kind](text, id=f"cell-{number}") for number, (kind, text) in enumerate(cells_of(paper, scale))
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    return nbformat.v4.new_notebook(metadata=kernel, cells=cells)


@guard
def main(argv: list[str] | None = None) -> int:
    options = parse(Options, argv, prog=".venv/bin/python -m lab.pages.notebook")
    papers = House().papers()
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
        print(f"executing {path.name}, at {scale}", flush=True)
        local = Config({"ConnectionFileMixin": {"transport": "ipc"}})  # TCP would be open to all users of the machine
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
