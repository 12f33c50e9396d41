"""What all pages share: Jinja templates, Markdown, pictures, places of files in the site, its navigation."""

import base64
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown import markdown
from markupsafe import Markup

from lab.run.errors import UserError

MARK = '<meta name="generator" content="lab.pages">'
"""In every page of the site, so that its folder can be recognised."""
PICTURES = (".png", ".gif", ".svg")
REPORT = Path("report/index.html")
BEFORE = {"Start": "README.md", "Findings": "FINDINGS.md", "Guide": "GUIDE.md", "Results": "RESULTS.md"}
AFTER = {"Arena": "arena/README.md", "Gallery": "GALLERY.md", "Speed": "benchmarks/RESULTS.md", "Errata": "ERRATA.md"}
"""Texts in the navigation; the report and the papers come between BEFORE and AFTER."""
PAPERS = {
    "HER": "bias_reduced_her", "Sibling Rivalry": "sibling_rivalry", "ReF-ER": "ref_er", "NERS": "ners", "TER": "ter",
}  # fmt: skip
"""Name in the navigation -> paper."""
TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    autoescape=True,  # of all but Markup
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def page(template: str, **fills: Any) -> str:
    """Render a self-contained page. Fills are escaped unless they are Markup; all must be given."""
    return TEMPLATES.get_template(template).render(**fills)


def place(path: Path) -> Path:
    """Path of a repository file in the site, both relative: a README is its folder's start page."""
    if path.suffix in PICTURES:
        return path
    return path.with_name("index.html" if path.name == "README.md" else f"{path.stem}.html")


def navigation(out: Path, page: Path, there: Callable[[Path], bool] = Path.exists) -> list[tuple[str, str]]:
    """Name and address, relative to `page`, of the existing main pages of the site in `out`; the page's own is ""."""
    places = {name: place(Path(text)) for name, text in BEFORE.items()} | {"Report": REPORT}
    places |= {name: Path("papers", paper, "index.html") for name, paper in PAPERS.items()}
    places |= {name: place(Path(text)) for name, text in AFTER.items()}
    found = {name: out / each for name, each in places.items() if there(out / each)}
    return [
        (name, "" if each == page else Path(os.path.relpath(each, page.parent)).as_posix())
        for name, each in found.items()
    ]


def own(out: Path) -> None:
    """Raise UserError if a folder holds anything other than pages of the site."""
    if out.is_file() or any(MARK not in path.read_text(encoding="utf-8") for path in out.glob("*.html")):
        raise UserError(f"{out} holds something other than pages of the site; name another folder")


def png(path: Path) -> str:
    """A PNG as a data URI; "" if it does not exist."""
    return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode() if path.is_file() else ""


def without_links(text: str) -> str:
    """Strip links from Markdown, for a page that lies elsewhere: links to files become their text."""
    return re.sub(r"!?\[([^\]]*)\]\((?!https?:)[^)]*\)", r"\1", text)


def render(text: str) -> Markup:
    """Convert Markdown to HTML."""
    return Markup(markdown(without_links(text), extensions=["tables", "fenced_code", "sane_lists"]))


def sections(text: str) -> dict[str, str]:
    """Heading -> text of a Markdown file's `## ` sections; "" -> what comes before the first."""
    parts = re.split("^## ", "\n" + text, flags=re.MULTILINE)
    return {name.strip(): body for name, _, body in (part.partition("\n") for part in parts)}


def title(text: str) -> str:
    """The title of a Markdown file, its first line."""
    return text.partition("\n")[0].lstrip("# ")
