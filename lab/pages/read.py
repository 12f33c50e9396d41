"""Pages that show the code of the papers beside its comments and equations.

    .venv/bin/python -m lab.pages.read [--out DIR]     into DIR (default: site/read)

Start with DIR/index.html. The pages need no network and no script. Each paper's own index.html is its README, the
reading path first, with a page for each file of its method and for each of common/ behind it.
"""

import html
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from tyro.conf import arg

from lab.pages.equations import load, render, tagged
from lab.pages.html import page, title
from lab.pages.sections import Section, split
from lab.rooms import ROOT, House
from lab.run.arguments import parse
from lab.run.errors import UserError, guard

SHARED = (ROOT / "common",)
PATH = "## Read it in five minutes"
START = """# The papers, annotated

Comments and equations are on the left, their code on the right. Each paper opens with a five-minute path. The code
that the papers share follows below them.

"""
FORMAT = HtmlFormatter()
LIGHT, DARK = (HtmlFormatter(style=name).get_style_defs(".highlight") for name in ("friendly", "github-dark"))
COLOURS = Markup(f"{LIGHT}\n@media (prefers-color-scheme: dark) {{\n{DARK}\n}}")


@dataclass(frozen=True)
class Options:
    """Write pages of code beside its comments and equations."""

    out: Annotated[Path, arg(metavar="DIR")] = ROOT / "site" / "read"
    """Folder to write."""


def sources(folder: Path) -> list[Path]:
    """Files of a folder that get a page: README, EQUATIONS and a paper's method, without its evidence."""
    texts = [path for path in (folder / "README.md", folder / "EQUATIONS.md") if path.exists()]
    found = [path for path in folder.rglob("*.py") if path.name != "__init__.py" and "evidence" not in path.parts]
    return texts + sorted(found, key=lambda path: (len(path.parts), path))


def prose(text: str) -> str:
    """A comment or docstring as HTML: its paragraphs are filled anew, lists and what is indented keep their lines."""
    filled = re.sub(r"^([^\s*-].*)\n(?=[^\s*-])", r"\1 ", text, flags=re.MULTILINE)
    plain = re.sub(r":\w+:(?=`)", "", filled)  # the role of a Sphinx reference
    return re.sub(r"(`+)(.+?)\1", r"<code>\2</code>", html.escape(plain, quote=False))


def boxes(section: Section, equations: Iterable[str]) -> list[tuple[str, bool]]:
    """The equations that a section refers to, each once, and whether they are open: where a comment names them.

    Those that only a docstring names are folded, and so are algorithms, which are long.
    """
    comments = " ".join(section.comments)
    at_line = tagged(comments, equations)
    named = tagged(f"{comments} {section.docstring}", equations)
    return [(heading, heading in at_line and heading.startswith("Eq.")) for heading in named]


class Site:
    """Pages of the papers and of common/, below `out` at the places of their files in the repository."""

    def __init__(self, out: Path):
        self.out = out.resolve()
        self.papers = {paper.folder: sources(paper.folder) for paper in House().papers().values()}
        self.shared = [path for folder in SHARED for path in sources(folder)]
        self.pages = {path: self._page(path) for paths in (*self.papers.values(), self.shared) for path in paths}
        self.sections = {path: split(path.read_text(encoding="utf-8")) for path in self.pages if path.suffix == ".py"}

    def _page(self, path: Path) -> Path:
        place = self.out / path.relative_to(ROOT)
        return place.with_name("index.html") if path.name == "README.md" else place.with_suffix(".html")

    def link(self, page: Path, target: Path) -> str:
        """Relative address, on `page`, of the page of `target`, or of `target` itself if it has none."""
        return Path(os.path.relpath(self.pages.get(target, target), page.parent)).as_posix()

    def build(self) -> None:
        """Write all pages. A UserError, of a formula that cannot be converted, leaves the pages before it."""
        for folder, paths in self.papers.items():
            equations = load(folder / "EQUATIONS.md", f"papers/{folder.name}/EQUATIONS.md")
            for path in paths:
                self.write(path, paths, equations)
        for path in self.shared:
            self.write(path, self.shared, {})
        start, text = self.out / "index.html", START
        for path in (*(folder / "README.md" for folder in self.papers), *self.shared):
            name = (
                title(path.read_text(encoding="utf-8")) if path.suffix == ".md" else path.relative_to(ROOT).as_posix()
            )
            text += f"- [{name}]({self.link(start, path)})\n"
        self._write(start, "The papers, annotated", text=render(text, "start"))

    def write(self, path: Path, siblings: Sequence[Path], equations: Mapping[str, Markup]) -> None:
        """The page of a file, with links to those of its siblings."""
        place, where = self.pages[path], path.relative_to(ROOT).as_posix()
        top = siblings[0].parent
        names = {one: "Overview" if one.name == "README.md" else one.relative_to(top).as_posix() for one in siblings}
        nav = [("All papers", self.link(place, self.out / "index.html"))]
        nav += [(name, "" if sibling == path else self.link(place, sibling)) for sibling, name in names.items()]
        if path.suffix == ".py":
            rows = [self._row(section, path, equations) for section in self.sections[path]]
            self._write(place, where, nav=nav, rows=rows, equations=equations)
        else:
            head, *parts = re.split(r"^(?=## )", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
            parts.sort(key=lambda part: not part.startswith(PATH))
            text = self._linked(render("".join([head, *parts]), where), path)
            self._write(place, title(head), nav=nav, text=text)

    def _write(self, place: Path, title: str, **fills: Any) -> None:
        place.parent.mkdir(parents=True, exist_ok=True)
        fills = {"nav": [], "rows": [], "text": "", **fills}
        place.write_text(page("read.html", title=title, colours=COLOURS, **fills), encoding="utf-8")

    def _row(self, section: Section, path: Path, equations: Mapping[str, Markup]) -> tuple[Any, ...]:
        """A section, what is said as HTML, its equations, and the code that it is said about."""
        docs = prose("\n\n".join(section.docs))
        docs = re.sub(r"(?<![\w/.])[\w/]+\.py\b", lambda found: self._named(found[0], found[0], path), docs)
        code = highlight("\n".join(section.code).rstrip(), PythonLexer(), FORMAT)
        return section, Markup(docs), boxes(section, equations), Markup(code)

    def _named(self, text: str, name: str, path: Path, last: Path | None = None) -> str:
        """`text` as a link to what a file names: "file.py", "file.py:function", or "function" of the file `last`."""
        file, _, function = name.rpartition(":") if not name.endswith(".py") else (name, "", "")
        for near in (path.parent / file, ROOT / file) if file else [last]:
            if near in self.pages and (not function or function in {each.name for each in self.sections.get(near, [])}):
                return f'<a href="{self.link(self.pages[path], near)}{"#" * bool(function)}{function}">{text}</a>'
        return text

    def _linked(self, body: Markup, path: Path) -> Markup:
        """Turn a README's links to files into links to their pages, and the functions it names into links, too.

        A function is named by `file.py:function`, or by `function` after a link to its file.
        """
        page, last = self.pages[path], path
        sources = {place: source for source, place in self.pages.items()}

        def moved(match: re.Match) -> str:
            return f'{match[1]}="{self.link(page, (path.parent / match[2]).resolve())}{match[3]}"'

        def named(match: re.Match) -> str:
            nonlocal last
            if match["code"]:
                return self._named(match[0], match["code"].removesuffix("()"), path, last)
            last = sources.get((page.parent / (match["address"] or "")).resolve(), last)
            return match[0]

        text = re.sub(r'(href|src)="(?!\w+:)([^"#]+)([^"]*)"', moved, body)
        code = r"<code>(?P<code>[\w./:]+(?:\(\))?)</code>"
        pattern = rf'<a [^>]*?href="(?P<address>[^"#]*)[^"]*".*?</a>|<pre>.*?</pre>|{code}'
        return Markup(re.sub(pattern, named, text, flags=re.DOTALL))


@guard
def main(argv: Sequence[str] | None = None) -> int:
    """Write the pages; returns 0. A user's mistake is one line on stderr and SystemExit(2)."""
    out = parse(Options, argv, prog=".venv/bin/python -m lab.pages.read").out
    start = out / "index.html"
    if out.exists() and any(out.iterdir()) and not (start.exists() and "The papers, " in start.read_text()):
        raise UserError(f"{out} is not empty and was not written by lab.pages.read; name another folder")
    Site(out).build()
    print(f"written: {os.path.relpath(start)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
