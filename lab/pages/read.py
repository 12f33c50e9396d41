"""Write the repository as pages: its texts, and the papers' code beside its comments and equations.

    .venv/bin/python -m lab.pages.read [--out DIR]     into DIR (default: site)

Start with DIR/index.html. The pages need no server, network or script. Files keep their places in the repository: a
README becomes its folder's index.html, pictures are copied, and a file to which a text links gets a page, too.
"""

import html
import os
import re
import shutil
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

from lab.pages import executed
from lab.pages.equations import load, render, tagged
from lab.pages.html import PICTURES, REPORT, navigation, own, page, title
from lab.pages.html import place as html_place
from lab.pages.sections import Section, split
from lab.rooms import ROOT, House
from lab.run.arguments import parse
from lab.run.errors import guard

SHARED = (ROOT / "common",)
TEXTS = ("*.md", "adapters/*.md", "arena/*.md", "benchmarks/*.md", "tests/README.md")
"""Of the repository, beside those of the papers."""
PATH = "## Read it in five minutes"
DATA = (".csv", ".json", ".pt")
"""Files without a page: a link to one becomes plain text."""
FORMAT = HtmlFormatter()
LIGHT, DARK = (HtmlFormatter(style=name).get_style_defs(".highlight") for name in ("friendly", "github-dark"))
COLOURS = Markup(f"{LIGHT}\n@media (prefers-color-scheme: dark) {{\n{DARK}\n}}")


@dataclass(frozen=True)
class Options:
    """Write the repository's texts, and its code beside comments and equations, as pages."""

    out: Annotated[Path, arg(metavar="DIR")] = ROOT / "site"
    """Folder to write to."""


def sources(folder: Path) -> list[Path]:
    """Files of a folder that get a page: its texts, and its code without evidence."""
    texts = [folder / name for name in ("README.md", "NOTEBOOK.md", "VERDICTS.md", "EQUATIONS.md")]
    found = [path for path in folder.rglob("*.py") if path.name != "__init__.py" and "evidence" not in path.parts]
    return [path for path in texts if path.exists()] + sorted(found, key=lambda path: (len(path.parts), path))


def prose(text: str) -> str:
    """Convert a comment or docstring to HTML: paragraphs are refilled; lists and indented text keep their lines."""
    filled = re.sub(r"^([^\s*-].*)\n(?=[^\s*-])", r"\1 ", text, flags=re.MULTILINE)
    plain = re.sub(r":\w+:(?=`)", "", filled)  # the role of a Sphinx reference
    return re.sub(r"(`+)(.+?)\1", r"<code>\2</code>", html.escape(plain, quote=False))


def boxes(section: Section, equations: Iterable[str]) -> list[tuple[str, bool]]:
    """The equations to which a section refers, each once, and whether they are open.

    An equation that a comment names is open. Those that only a docstring names are folded, and so are algorithms, which
    are long.
    """
    comments = " ".join(section.comments)
    at_line = tagged(comments, equations)
    named = tagged(f"{comments} {section.docstring}", equations)
    return [(heading, heading in at_line and heading.startswith("Eq.")) for heading in named]


class Site:
    """Pages of the repository below `out`, with those of the notebooks that `make notebook` wrote there.

    report: whether the pages of `lab.pages.report` are there, too.
    """

    def __init__(self, out: Path, report: bool = False):
        self.out, self.report = out.resolve(), report
        self.papers = {paper.folder: sources(paper.folder) for paper in House().papers().values()}
        self.shared = [path for folder in SHARED for path in sources(folder)]
        self.texts = sorted({path for pattern in TEXTS for path in ROOT.glob(pattern)})
        files = (*(path for paths in self.papers.values() for path in paths), *self.shared, *self.texts)
        self.pages = {path: self.out / html_place(path.relative_to(ROOT)) for path in files}
        self.sections = {path: split(path.read_text(encoding="utf-8")) for path in self.pages if path.suffix == ".py"}
        self.linked: list[Path] = []  # other files to which texts link
        written = {folder: self.out / "notebooks" / f"{folder.name}.ipynb" for folder in self.papers}
        self.notebooks = {folder: path for folder, path in written.items() if path.is_file()}

    def link(self, page: Path, target: Path) -> str:
        """Address of the page of `target`, relative to `page`; "" if it cannot have one."""
        if target.is_dir():
            target = target / "README.md"
        if target not in self.pages:
            if target.suffix in DATA or not target.is_file() or not target.is_relative_to(ROOT):
                return ""
            self.pages[target] = self.out / html_place(target.relative_to(ROOT))
            self.linked.append(target)
        return Path(os.path.relpath(self.pages[target], page.parent)).as_posix()

    def _there(self, place: Path) -> bool:
        return place in self.pages.values() or (self.report and place == self.out / REPORT)

    def build(self) -> None:
        """Write all pages. A formula that cannot be converted raises UserError; earlier pages stay."""
        for folder, paths in self.papers.items():
            equations = load(folder / "EQUATIONS.md", f"papers/{folder.name}/EQUATIONS.md")
            for path in paths:
                self.write(path, paths, equations)
            if notebook := self.notebooks.get(folder):
                place = notebook.with_suffix(".html")
                nav = self._siblings(place, paths, place)
                self._write(place, f"Notebook: {folder.name}", nav=nav, text=executed.body(notebook))
        for path in self.shared:
            self.write(path, self.shared, {})
        for path in self.texts:
            self.write(path, (), {})
        for path in self.linked:  # grows in this loop
            if path.suffix in PICTURES:
                self.pages[path].parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, self.pages[path])
            else:
                if path.suffix == ".py":
                    self.sections[path] = split(path.read_text(encoding="utf-8"))
                self.write(path, (), {})

    def write(self, path: Path, siblings: Sequence[Path], equations: Mapping[str, Markup]) -> None:
        """Write the page of a file, with links to its siblings' pages."""
        place, where = self.pages[path], path.relative_to(ROOT).as_posix()
        nav = self._siblings(place, siblings, path)
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".py":
            rows = [self._row(section, path, equations) for section in self.sections[path]]
            self._write(place, where, nav=nav, rows=rows, equations=equations)
        elif path.suffix == ".md":
            head, *parts = re.split(r"^(?=## )", text, flags=re.MULTILINE)
            parts.sort(key=lambda part: not part.startswith(PATH))
            self._write(place, title(head), nav=nav, text=self._linked(render("".join([head, *parts]), where), path))
        else:
            shown = Markup("<h1>{}</h1>\n<pre>{}</pre>").format(where, text)
            self._write(place, where, nav=nav, text=shown)

    def _siblings(self, place: Path, siblings: Sequence[Path], here: Path) -> list[tuple[str, str]]:
        """Name and address of each sibling's page, relative to `place`; the address of `here` is ""."""
        if not siblings:
            return []
        top = siblings[0].parent
        names = {one: one.relative_to(top).as_posix() for one in siblings} | {top / "README.md": "Overview"}
        nav = [(names[one], "" if one == here else self.link(place, one)) for one in siblings]
        if notebook := self.notebooks.get(top):
            page = notebook.with_suffix(".html")
            nav.append(
                ("Jupyter notebook", "" if page == here else Path(os.path.relpath(page, place.parent)).as_posix())
            )
        return nav

    def _write(self, place: Path, title: str, **fills: Any) -> None:
        place.parent.mkdir(parents=True, exist_ok=True)
        fills = {"nav": [], "rows": [], "text": "", "top": navigation(self.out, place, self._there), **fills}
        place.write_text(page("read.html", title=title, colours=COLOURS, **fills), encoding="utf-8")

    def _row(self, section: Section, path: Path, equations: Mapping[str, Markup]) -> tuple[Any, ...]:
        """A section, its text as HTML, its equations, and its code as HTML."""
        docs = prose("\n\n".join(section.docs))
        docs = re.sub(r"(?<![\w/.])[\w/]+\.py\b", lambda found: self._named(found[0], found[0], path), docs)
        code = highlight("\n".join(section.code).rstrip(), PythonLexer(), FORMAT)
        return section, Markup(docs), boxes(section, equations), Markup(code)

    def _named(self, text: str, name: str, path: Path, last: Path | None = None) -> str:
        """Turn `text` into a link to what `name` names: "file.py", "file.py:function", or "function" in file `last`."""
        file, _, function = name.rpartition(":") if not name.endswith(".py") else (name, "", "")
        for near in (path.parent / file, ROOT / file) if file else [last]:
            if near in self.pages and (not function or function in {each.name for each in self.sections.get(near, [])}):
                return f'<a href="{self.link(self.pages[path], near)}{"#" * bool(function)}{function}">{text}</a>'
        return text

    def _linked(self, body: Markup, path: Path) -> Markup:
        """Turn a text's links to files into links to their pages, and link the functions that it names.

        A function is named by `file.py:function`, or by `function` after a link to its file.
        """
        page, last = self.pages[path], path

        def moved(match: re.Match) -> str:
            address = self.link(page, (path.parent / match["file"]).resolve())
            return f'{match["name"]}="{address}{match["anchor"]}"' if address else ""

        def named(match: re.Match) -> str:
            nonlocal last
            if match["code"]:
                return self._named(match[0], match["code"].removesuffix("()"), path, last)
            sources = {place: source for source, place in self.pages.items()}
            last = sources.get((page.parent / (match["address"] or "")).resolve(), last)
            return match[0]

        text = re.sub(r'(?P<name>href|src)="(?!\w+:)(?P<file>[^"#]+)(?P<anchor>[^"]*)"', moved, body)
        code = r"<code>(?P<code>[\w./:]+(?:\(\))?)</code>"
        pattern = rf'<a [^>]*?href="(?P<address>[^"#]*)[^"]*".*?</a>|<pre>.*?</pre>|{code}'
        return Markup(re.sub(pattern, named, text, flags=re.DOTALL))


@guard
def main(argv: Sequence[str] | None = None) -> int:
    """Write the pages; returns 0. A user's mistake is one line on stderr and SystemExit(2)."""
    out = parse(Options, argv, prog=".venv/bin/python -m lab.pages.read").out
    own(out)
    Site(out, report=(out / REPORT).exists()).build()
    print(f"written: {os.path.relpath(out / 'index.html')}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
