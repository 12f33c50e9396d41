"""A paper's README.md as HTML, section by section, for a page that lies elsewhere."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.treeprocessors import Treeprocessor
from markupsafe import Markup

from lab.errors import UserError

IDEA = "The idea"
FORM = f"the report needs a title (# ...), the citation and below it sections (## ...), of which one is `{IDEA}`"


@dataclass(frozen=True)
class Readme:
    """Title as text; citation, idea and the other sections (title -> body, in order) as HTML."""

    title: str
    citation: Markup
    idea: Markup
    sections: Mapping[str, Markup]


def read(path: Path, anchors: Mapping[str, str]) -> Readme:
    """Parse and render the file.

    anchors: the relative links that lead somewhere in the page, e.g. {"figures/quick/fig2.png": "#ter-fig2"}. Pictures
    become links, other relative links plain text. Raises UserError when the file is not there or has another form.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}); {FORM}") from None
    head, *parts = re.split(r"^## ", text, flags=re.MULTILINE)
    title, _, citation = head.removeprefix("# ").partition("\n")
    sections = {name.strip(): render(body, anchors) for name, _, body in (part.partition("\n") for part in parts)}
    if not head.startswith("# ") or IDEA not in sections:
        raise UserError(f"{path}: {FORM}")
    idea = sections.pop(IDEA)
    return Readme(title.strip(), render(citation, anchors), idea, sections)


def render(text: str, anchors: Mapping[str, str] | None = None) -> Markup:
    """Markdown as HTML; for `anchors` see `read`."""
    converter = Markdown(extensions=["tables", "fenced_code", "sane_lists"])
    converter.treeprocessors.register(_Links(converter, anchors or {}), "links", 5)  # after inline markup is parsed
    return Markup(converter.convert(text))


class _Links(Treeprocessor):
    def __init__(self, converter: Markdown, anchors: Mapping[str, str]) -> None:
        super().__init__(converter)
        self.anchors = anchors

    def run(self, root: Element) -> None:
        for element in list(root.iter()):
            if element.tag == "table":
                self._frame(element)
            elif element.tag == "a":
                self._point(element, element.get("href", ""))
            elif element.tag == "img":
                element.text = element.get("alt")
                self._point(element, element.get("src", ""))

    def _point(self, element: Element, where: str) -> None:
        element.attrib.clear()
        target = where if re.match(r"https?://", where) else self.anchors.get(where)
        element.tag = "a" if target else "span"
        if target:
            element.set("href", target)

    @staticmethod
    def _frame(table: Element) -> None:
        """Put the table into a box that scrolls sideways, so that a phone's page does not."""
        inner = Element("table", table.attrib)
        inner.extend(list(table))
        table.clear()
        table.tag = "div"
        table.attrib.update({"class": "scroll", "tabindex": "0"})
        table.append(inner)
