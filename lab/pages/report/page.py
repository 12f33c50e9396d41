"""The report as HTML. The page's text and order are in template.html; style.css and script.js go into it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from lab.claims import KINDS
from lab.pages.report import compute
from lab.pages.report.content import REPEATED, Content
from lab.pages.report.readme import render as markdown
from lab.pages.templates import templates
from lab.verdicts import STATUSES, number

SIGNS = dict(zip(STATUSES, "✓◐✗?–", strict=True))  # a colour alone would not tell a verdict
OPEN = ("What came out",)  # sections of a README that are not folded
LEFT_OUT = ("Read it in five minutes",)  # of no use without the code that it points at


def render(content: Content) -> str:
    """The whole page, with nothing to load from elsewhere."""
    page = templates(Path(__file__).parent).get_template("template.html")
    return page.render(
        papers=content.papers,
        counts=sum((paper.counts for paper in content.papers), Counter()),
        uncounted=sum(not claim.counts for paper in content.papers for claim in paper.judged),
        signs=SIGNS,
        kinds=(*KINDS, REPEATED),
        explanation=markdown(content.explanation),
        number=number,
        compute=compute,
        open=OPEN,
        left_out=LEFT_OUT,
    )
