"""The report as HTML. The page's text and order are in template.html; style.css and script.js go into it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from lab.claims import explanation
from lab.pages.report import compute
from lab.pages.report.content import PaperContent
from lab.pages.report.readme import render as markdown
from lab.verdicts import STATUSES, number

SIGNS = dict(zip(STATUSES, "✓◐✗?–", strict=True))  # a colour alone would not tell a verdict
OPEN = ("What came out",)  # sections of a README that are not folded
LEFT_OUT = ("Read it in five minutes",)  # of no use without the code that it points at


def render(papers: Sequence[PaperContent]) -> str:
    """The whole page, with nothing to load from elsewhere."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("template.html").render(
        papers=papers,
        statuses=STATUSES,
        signs=SIGNS,
        explanation=markdown(explanation({paper.name: list(paper.judged) for paper in papers})),
        number=number,
        distinct=compute.distinct,
        open=OPEN,
        left_out=LEFT_OUT,
    )
