"""The pages: a paper's README, its equations, and a page for each file of its method."""

import html
import os
import re
from collections.abc import Sequence
from pathlib import Path

from lab.pages.read.columns import columns
from lab.pages.read.equations import load, render
from lab.pages.read.sections import split
from lab.rooms import ROOT, House

STYLE = "read.css"
SHARED = ROOT / "common" / "replay"
LEFT_OUT = ("__init__", "figures", "claims", "experiments")  # beginnings of names of files that are no method
PATH = "Read it in five minutes"


def rooms() -> dict[str, Path]:
    """Folders of the papers by name."""
    return {name: paper.folder for name, paper in House().papers().items()}


def sources(folder: Path) -> list[Path]:
    """Python files of a folder that get a page."""
    return [path for path in sorted(folder.glob("*.py")) if not path.name.startswith(LEFT_OUT)]


class Site:
    """Pages of the papers `names` and of common/replay, below `out` at the places of their files in the repository."""

    def __init__(self, out: Path, names: Sequence[str]):
        self.out = out.resolve()
        self.folders = {folder: self._texts(folder) + sources(folder) for folder in (rooms()[name] for name in names)}
        self.shared = sources(SHARED)
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

    def write(self, page: Path, title: str, body: str, siblings: Sequence[Path] = ()) -> None:
        """Write one page, with links to the start page and to the pages of `siblings` on top."""
        start = os.path.relpath(self.out, page.parent)
        names = {path: "Overview" if path.name == "README.md" else path.name for path in siblings}
        links = [
            f"<b>{name}</b>" if self.pages[path] == page else f'<a href="{self.link(page, path)}">{name}</a>'
            for path, name in names.items()
        ]
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f'<title>{html.escape(title)}</title>\n<link rel="stylesheet" href="{start}/{STYLE}"></head><body>\n'
            f'<nav><a href="{start}/index.html">All papers</a> {" ".join(links)}</nav>\n{body}\n</body></html>\n',
            encoding="utf-8",
        )

    def write_code(self, path: Path, siblings: Sequence[Path], equations: dict[str, str]) -> None:
        """The page of a Python file: a row for each of its sections."""
        page, where = self.pages[path], path.relative_to(ROOT).as_posix()
        sections = split(path.read_text(encoding="utf-8"))
        rows = [
            f'<section id="{section.anchor}"><div class="docs">'
            f'<a class="line" href="#{section.anchor}">{section.line}</a>\n'
            f'<div class="text">{self._files(docs, path)}</div>\n{box}</div>\n<div class="code">{code}</div></section>'
            for section, (docs, box, code) in zip(sections, columns(sections, equations, where))
        ]
        self.write(page, where, f"<h1>{where}</h1>\n<main>\n" + "\n".join(rows) + "\n</main>", siblings)

    def _files(self, docs: str, path: Path) -> str:
        """Make the names of files in a comment links to their pages."""

        def replace(match: re.Match) -> str:
            near = [place for place in (path.parent / match[0], ROOT / match[0]) if place in self.pages]
            return f'<a href="{self.link(self.pages[path], near[0])}">{match[0]}</a>' if near else match[0]

        return re.sub(r"(?<![\w/.])[\w/]+\.py\b", replace, docs)

    def write_text(self, path: Path, siblings: Sequence[Path]) -> None:
        """The page of a README.md, its reading path first, or of an EQUATIONS.md."""
        page, text = self.pages[path], path.read_text(encoding="utf-8")
        title = text.partition("\n")[0].lstrip("# ")
        head, *parts = re.split(r"^(?=## )", text, flags=re.MULTILINE)
        parts.sort(key=lambda part: not part.startswith(f"## {PATH}"))
        body = render("".join([head, *parts]), path.relative_to(ROOT).as_posix())
        self.write(page, title, f'<article class="text">{self._links(body, path)}</article>', siblings)

    def _links(self, body: str, path: Path) -> str:
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

        body = re.sub(r'(href|src)="(?!\w+:)([^"#]+)([^"]*)"', moved, body)
        code = r"<code>(?P<code>[\w./:]+(?:\(\))?)</code>"
        pattern = rf'<a [^>]*?href="(?P<address>[^"#]*)[^"]*".*?</a>|<pre>.*?</pre>|{code}'
        return re.sub(pattern, named, body, flags=re.DOTALL)

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
                title, authors = html.escape(title.lstrip("# ")), html.escape(rest.strip().partition("\n\n")[0])
                address = index.relative_to(self.out).as_posix()
                papers.append(f'<li><a href="{address}">{title}</a><br>{authors}</li>')
        files = [f'<li><a href="{self.link(page, path)}">{path.relative_to(ROOT)}</a></li>' for path in self.shared]
        body = (
            "<h1>The papers, to be read</h1>\n<p>Comments and equations stand left, the code they belong to right. "
            f"Each paper opens with a path of five minutes.</p>\n<ul>{''.join(papers)}</ul>\n"
            f"<h2>Replay memories and samplers that the papers share</h2>\n<ul>{''.join(files)}</ul>"
        )
        self.write(page, "The papers, to be read", f'<article class="text">{body}</article>')
