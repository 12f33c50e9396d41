"""A paper's EQUATIONS.md: its headings, the code's references to them, and its formulas as MathML.

Browsers draw MathML themselves, so the pages need no script or network.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

from latex2mathml.converter import convert
from markdown import markdown
from markupsafe import Markup

from lab.pages.html import sections
from lab.run.errors import UserError

# MathML elements that need this many parts to be drawn sensibly.
PARTS = dict.fromkeys(("mfrac", "msub", "msup", "munder", "mover", "mroot"), 2) | {"msubsup": 3, "munderover": 3}
HIDDEN = 0xF0000  # start of private characters, which Markdown takes for letters


def mathml(latex: str, display: str = "inline") -> str:
    """Convert a formula to a `<math>` element; `display` is inline or block. ValueError if any part cannot be."""
    # latex2mathml does not know `aligned`, which GitHub draws, but it knows the equivalent `split`.
    plain = latex.replace("{aligned}", "{split}")
    try:
        html = convert(plain, display=display)
        tree = ElementTree.fromstring(html)
    except Exception as error:  # its exceptions have no base class of their own
        raise ValueError(f"{type(error).__name__} {error}".strip()) from error
    if unknown := re.search(r"\\[A-Za-z]+", "".join(tree.itertext())):
        raise ValueError(f"unknown command {unknown[0]}")
    for element in tree.iter():
        name = element.tag.rpartition("}")[2]
        if len(element) != PARTS.get(name, len(element)):
            raise ValueError(f"a part is missing in {name}")
    return html


def render(text: str, where: str) -> Markup:
    """Convert Markdown to HTML, with `$...$` and `$$...$$` as formulas. Headings get GitHub's anchors.

    Raises UserError naming `where` if a formula cannot be converted.
    """

    def hidden(match: re.Match) -> str:
        latex = match["block"] or match["inline"]
        if not latex:  # code
            return match[0]
        try:
            html = mathml(latex.strip(), "block" if match["block"] else "inline")
        except ValueError as error:
            raise UserError(f"{where}: cannot convert {' '.join(latex.split())!r}: {error}") from None
        return "".join(chr(HIDDEN + ord(character)) for character in html)

    code = r"```.*?```|``.*?``|`[^`\n]*`"
    text = re.sub(rf"{code}|\$\$(?P<block>.+?)\$\$|\$(?P<inline>[^$]+)\$", hidden, text, flags=re.DOTALL)
    html = markdown(text, extensions=["tables", "fenced_code", "sane_lists", "toc"])
    return Markup(re.sub(r"[\U000f0000-\U000fffff]", lambda match: chr(ord(match[0]) - HIDDEN), html))


def load(path: Path, where: str) -> dict[str, Markup]:
    """Heading of EQUATIONS.md, e.g. "Eq. (9)" or "Algorithm 1" -> the text below it, as HTML.

    Empty if there is no such file. Raises UserError naming `where` and the heading if a formula cannot be converted.
    """
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    return {heading: render(body, f"{where}, {heading}") for heading, body in sections(text).items() if heading}


def numbers(text: str) -> set[str]:
    """Equations named in a text: "Eqs. (3) and (5) to (7)" -> {"Eq. (3)", "Eq. (5)", "Eq. (6)", "Eq. (7)"}."""
    found: set[str] = set()
    for group in re.findall(r"Eqs?\. (\([\w.]+\)(?:(?:, and |, | and | to )\([\w.]+\))*)", " ".join(text.split())):
        found |= {f"Eq. ({number})" for number in re.findall(r"\(([\w.]+)\)", group)}
        for first, last in re.findall(r"\((\d+)\) to \((\d+)\)", group):
            found |= {f"Eq. ({number})" for number in range(int(first), int(last) + 1)}
    return found


def tagged(text: str, headings: Iterable[str]) -> list[str]:
    """Those of `headings` to which a text refers, in their order.

    "Wang et al. 2017, their Algorithm 3" and "2017, Algorithm 1" belong to other papers and do not count.
    """
    flat = " ".join(text.split()).replace("Appendix ", "App. ")
    flat = re.sub(r"Algorithms (\d+) and (\d+)", r"Algorithm \1 and Algorithm \2", flat)
    equations = numbers(flat)

    def named(heading: str) -> bool:
        return bool(re.search(rf"(?<!their )(?<!\d\d\d\d, )\b{re.escape(heading)}(?!\w|\.\w)", flat))

    return [heading for heading in headings if heading in equations or named(heading)]
