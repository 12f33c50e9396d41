"""What the pages share: Jinja templates, Markdown, pictures."""

import base64
import re
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown import markdown
from markupsafe import Markup

TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    autoescape=True,  # of all but Markup
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def page(template: str, **fills: Any) -> str:
    """A whole page, which loads nothing from elsewhere. Fills are escaped unless they are Markup; all must be there."""
    return TEMPLATES.get_template(template).render(**fills)


def png(path: Path) -> str:
    """A PNG as a data URI; "" for one that is not there."""
    return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode() if path.is_file() else ""


def without_links(text: str) -> str:
    """Markdown for a page that lies elsewhere: links to files become their text."""
    return re.sub(r"!?\[([^\]]*)\]\((?!https?:)[^)]*\)", r"\1", text)


def render(text: str) -> Markup:
    """Markdown as HTML."""
    return Markup(markdown(without_links(text), extensions=["tables", "fenced_code", "sane_lists"]))


def sections(text: str) -> dict[str, str]:
    """A Markdown file by its `## ` headings; what stands before the first is below ""."""
    parts = re.split("^## ", "\n" + text, flags=re.MULTILINE)
    return {name.strip(): body for name, _, body in (part.partition("\n") for part in parts)}


def title(text: str) -> str:
    """The title of a Markdown file, its first line."""
    return text.partition("\n")[0].lstrip("# ")
