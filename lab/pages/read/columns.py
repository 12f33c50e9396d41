"""The two columns of a page: comments as prose through Markdown, code through Pygments, both by way of Pycco."""

import html
import re

from pycco.main import get_language, highlight

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


def boxes(section: Section, equations: dict[str, str]) -> str:
    """The equations that a section refers to, each once: open if a comment names it, folded if only a docstring does.

    Algorithms, which are long, are always folded.
    """
    comments, docstring = " ".join(section.comments), section.docstring
    at_line = tagged(comments, equations)
    made = []
    for heading in tagged(f"{comments} {docstring}", equations):
        opened = " open" if heading in at_line and heading.startswith("Eq.") else ""
        made.append(f'<details class="equation"{opened}><summary>{heading}</summary>\n{equations[heading]}\n</details>')
    return "\n".join(made)


def columns(sections: list[Section], equations: dict[str, str], where: str) -> list[tuple[str, str, str]]:
    """For each section of a file: comments, boxes of equations, and code, as HTML. `where` is the file's name."""
    cells = [
        {"docs_text": "\n\n".join(prose(text, where) for text in section.docs), "code_text": "\n".join(section.code)}
        for section in sections
    ]
    # `outdir` is what Pycco resolves its own [[links]] with; `prose` leaves it none.
    done = highlight(cells, get_language(where, ""), outdir=".")
    return [
        (reveal(cell["docs_html"]), boxes(section, equations), cell["code_html"])
        for section, cell in zip(sections, done)
    ]
