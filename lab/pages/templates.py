"""The HTML of the pages: Jinja templates, which lie beside the code that fills them, and pictures."""

import base64
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined


def templates(folder: Path) -> Environment:
    """The templates in a folder. What they are given is escaped unless it is Markup; a name they lack is an error."""
    return Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def png(path: Path) -> str:
    """A PNG as a data URI, so that a page holds its pictures."""
    return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode()
