"""The two columns of a page: comments as prose through Markdown, code through Pygments."""

import html
import re
from collections.abc import Iterable
from dataclasses import dataclass

from markdown import markdown
from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from lab.pages.read.equations import hide, reveal, tagged, typeset
from lab.pages.read.sections import Section

# Written as plain text in comments, but marks of Markdown or HTML.
LITERAL = {ord(character): hide(html.escape(character, quote=False)) for character in "<>&*_[\\"}


def prose(text: str, where: str) -> str:
    """A comment or docstring as Markdown that keeps what a Python programmer meant by its layout.

    Lists, arguments below `Args:`, and rulers (`---- title ----`) become lists and headings; brackets, stars and
    underscores stay what they are. UserError names `where` if a formula in `$...$` cannot be converted.
    """
    lines: list[str] = []
    arguments = in_list = False
    for line in typeset(text, where).split("\n"):
        plain = re.sub(r":\w+:(?=`)", "", line)  # the role of a Sphinx reference
        item = re.match(r"\s*[*-] (?=\S)", plain)
        if arguments and re.match(r" {4}\S", plain):
            item = re.match(r" {4}", plain)
        if item:
            lines += [] if in_list else [""]
            plain = "- " + plain[item.end() :]
        elif in_list and plain.startswith(" "):
            plain = plain.strip()
        elif not plain.startswith(" "):
            lines += [""] if in_list and plain else []
            arguments = plain in ("Args:", "Raises:", "Returns:")
        in_list = bool(item) or (in_list and line.startswith(" "))
        plain = plain.translate(LITERAL)
        lines.append(re.sub(r"^-{2,} (.+?) -{2,}$", r"#### \1", plain))
    return "\n".join(lines)


def boxes(section: Section, equations: Iterable[str]) -> list[tuple[str, bool]]:
    """The equations that a section refers to, each once, and whether they are open: where a comment names them.

    Those that only a docstring names are folded, and so are algorithms, which are long.
    """
    comments = " ".join(section.comments)
    at_line = tagged(comments, equations)
    named = tagged(f"{comments} {section.docstring}", equations)
    return [(heading, heading in at_line and heading.startswith("Eq.")) for heading in named]


@dataclass(frozen=True)
class Row:
    """A section as HTML: what is said, and the code it is said about."""

    section: Section
    docs: Markup
    boxes: list[tuple[str, bool]]
    """Headings of equations, and whether they are open."""
    code: Markup


def rows(sections: list[Section], equations: Iterable[str], where: str) -> list[Row]:
    """The sections of a file, whose name is `where`. UserError for a formula that cannot be converted."""
    made = []
    for section in sections:
        text = "\n\n".join(prose(text, where) for text in section.docs)
        docs = reveal(markdown(text, extensions=["smarty", "fenced_code"]))
        code = highlight("\n".join(section.code).rstrip(), PythonLexer(), HtmlFormatter())
        made.append(Row(section, Markup(docs), boxes(section, equations), Markup(code)))
    return made
