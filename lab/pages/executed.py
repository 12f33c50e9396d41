"""Turn an executed notebook into a page: its texts, its code, and what the code printed and drew."""

import base64
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from lab.pages.equations import render
from lab.run.errors import UserError


def body(path: Path) -> Markup:
    """Body of a notebook's page, which lies beside it; also writes its pictures there, as NAME-1.png, ...

    Raises UserError for a file that is not a notebook.
    """
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        return Markup("\n").join([Markup('<p><a href="{0}">{0}</a></p>').format(path.name), *_parts(cells, path)])
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} is not a notebook ({error}); delete it or rerun `make notebook`") from None


def _parts(cells: list[Mapping[str, Any]], path: Path) -> Iterator[Markup]:
    pictures = 0
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            yield render(source, path.name)
            continue
        yield Markup(highlight(source, PythonLexer(), HtmlFormatter()))
        for output in cell["outputs"]:
            data = output.get("data", {})
            if picture := data.get("image/png"):
                pictures += 1
                place = path.with_name(f"{path.stem}-{pictures}.png")
                place.write_bytes(base64.b64decode(picture))
                yield Markup('<p><img src="{}" alt=""></p>').format(place.name)
            elif "text/html" in data:  # displayed code, whose plain text is its source
                yield Markup(highlight("".join(data["text/plain"]), PythonLexer(), HtmlFormatter()))
            else:
                yield Markup("<pre>{}</pre>").format("".join(output.get("text", data.get("text/plain", ""))))
