"""The pages: a paper's README, its equations, and a page for each file of its method."""

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from markupsafe import Markup

from lab.pages.read.columns import rows
from lab.pages.read.equations import load, render
from lab.pages.read.sections import split
from lab.pages.templates import templates
from lab.rooms import ROOT, House

STYLE = "read.css"
SHARED = (ROOT / "common", ROOT / "common" / "replay")
PATH = "Read it in five minutes"


def rooms() -> dict[str, Path]:
    """Folders of the papers by name."""
    return {name: paper.folder for name, paper in House().papers().items()}


def sources(folder: Path) -> list[Path]:
    """Python files of a folder that get a page: a paper's method, without its evidence."""
    return [path for path in sorted(folder.glob("*.py")) if path.name != "__init__.py"]


class Site:
    """Pages of the papers `names` and of common/, below `out` at the places of their files in the repository."""

    def __init__(self, out: Path, names: Sequence[str]):
        self.out = out.resolve()
        self.folders = {folder: self._texts(folder) + sources(folder) for folder in (rooms()[name] for name in names)}
        self.shared = [path for folder in SHARED for path in sources(folder)]
        self.pages = {path: self._page(path) for paths in (*self.folders.values(), self.shared) for path in paths}
        self.sources = {page: path for path, page in self.pages.items()}
        self._names: dict[Path, set[str]] = {}

    def _texts(self, folder: Path) -> list[Path]:
        return [path for path in (folder / "README.md", folder / "EQUATIONS.md") if path.exists()]

    def _page(self, path: Path) -> Path:
        place = self.out / path.relative_to(ROOT)
        return place.with_name("index.html") if path.name == "README.md" else place.with_suffix(".html")

    def link(self, page: Path, target: Path) -> str:
        """Relative address, on `page`, of the page of `target`, or of `target` itself if it has none."""
        return Path(os.path.relpath(self.pages.get(target, target), page.parent)).as_posix()

    def write(self, page: Path, template: str, title: str, siblings: Sequence[Path] = (), **fills: Any) -> None:
        """Write one page, with links to the start page and to the pages of `siblings` on top."""
        names = {path: "Overview" if path.name == "README.md" else path.name for path in siblings}
        nav = [(name, "" if self.pages[path] == page else self.link(page, path)) for path, name in names.items()]
        start = Path(os.path.relpath(self.out, page.parent)).as_posix()
        html = templates(Path(__file__).parent).get_template(template)
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(html.render(title=title, nav=nav, start=start, style=STYLE, **fills), encoding="utf-8")

    def write_code(self, path: Path, siblings: Sequence[Path], equations: dict[str, Markup]) -> None:
        """The page of a Python file: a row for each of its sections."""
        where = path.relative_to(ROOT).as_posix()
        found = rows(split(path.read_text(encoding="utf-8")), equations, where)
        found = [replace(row, docs=self._files(row.docs, path)) for row in found]
        self.write(self.pages[path], "code.html", where, siblings, rows=found, equations=equations)

    def _files(self, docs: Markup, path: Path) -> Markup:
        """Make the names of files in a comment links to their pages."""

        def linked(match: re.Match) -> str:
            near = [place for place in (path.parent / match[0], ROOT / match[0]) if place in self.pages]
            return f'<a href="{self.link(self.pages[path], near[0])}">{match[0]}</a>' if near else match[0]

        return Markup(re.sub(r"(?<![\w/.])[\w/]+\.py\b", linked, docs))

    def write_text(self, path: Path, siblings: Sequence[Path]) -> None:
        """The page of a README.md, its reading path first, or of an EQUATIONS.md."""
        page, text = self.pages[path], path.read_text(encoding="utf-8")
        title = text.partition("\n")[0].lstrip("# ")
        head, *parts = re.split(r"^(?=## )", text, flags=re.MULTILINE)
        parts.sort(key=lambda part: not part.startswith(f"## {PATH}"))
        body = render("".join([head, *parts]), path.relative_to(ROOT).as_posix())
        self.write(page, "page.html", title, siblings, body=self._links(body, path))

    def _links(self, body: Markup, path: Path) -> Markup:
        """Turn a README's links to files into links to their pages, and the functions it names into links, too.

        A function is named by `file.py:function`, or by `function` after a link to its file.
        """
        page, last = self.pages[path], path

        def moved(match: re.Match) -> str:
            return f'{match[1]}="{self.link(page, (path.parent / match[2]).resolve())}{match[3]}"'

        def named(match: re.Match) -> str:
            nonlocal last
            if not match["code"]:
                last = self.sources.get((page.parent / (match["address"] or "")).resolve(), last)
                return match[0]
            file, _, name = match["code"].removesuffix("()").rpartition(":")
            for place in (path.parent / file, ROOT / file) if file else (last,):
                if name in self.names(place):
                    return f'<a href="{self.link(page, place)}#{name}">{match[0]}</a>'
            place = path.parent / match["code"]
            return f'<a href="{self.link(page, place)}">{match[0]}</a>' if place in self.pages else match[0]

        text = re.sub(r'(href|src)="(?!\w+:)([^"#]+)([^"]*)"', moved, body)
        code = r"<code>(?P<code>[\w./:]+(?:\(\))?)</code>"
        pattern = rf'<a [^>]*?href="(?P<address>[^"#]*)[^"]*".*?</a>|<pre>.*?</pre>|{code}'
        return Markup(re.sub(pattern, named, text, flags=re.DOTALL))

    def names(self, path: Path) -> set[str]:
        """Functions and classes that the page of a Python file can be opened at; none if it has no page."""
        if path not in self.pages or path.suffix != ".py":
            return set()
        if path not in self._names:
            self._names[path] = {section.name for section in split(path.read_text(encoding="utf-8"))} - {""}
        return self._names[path]

    def build(self) -> None:
        """Write all pages. A UserError, of a formula that cannot be converted, leaves the pages before it."""
        for folder, paths in self.folders.items():
            equations = load(folder / "EQUATIONS.md", f"papers/{folder.name}/EQUATIONS.md")
            for path in paths:
                if path.suffix == ".py":
                    self.write_code(path, paths, equations)
                else:
                    self.write_text(path, paths)
        for path in self.shared:
            self.write_code(path, self.shared, {})
        self._write_start()

    def _write_start(self) -> None:
        """The start page: every paper that has pages below `out`, from this call or an earlier one."""
        page, papers = self.out / "index.html", []
        for folder in rooms().values():
            readme = folder / "README.md"
            if (index := self._page(readme)).exists():
                title, _, rest = readme.read_text(encoding="utf-8").partition("\n")
                authors = rest.strip().partition("\n\n")[0]
                papers.append((title.lstrip("# "), authors, index.relative_to(self.out).as_posix()))
        shared = [(path.relative_to(ROOT).as_posix(), self.link(page, path)) for path in self.shared]
        self.write(page, "start.html", "The papers, to be read", papers=papers, shared=shared)
