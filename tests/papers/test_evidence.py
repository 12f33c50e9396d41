"""What the evidence of all papers has in common: experiments that build, figures that draw, claims that can be judged.

What is particular to a paper's experiments, figures and claims is tested in its room.
"""

import dataclasses
import importlib
import pickle
import re
from collections import Counter
from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas
from PIL import Image

from arena.__main__ import HOUSE as ARENA
from lab.judge.claims import evaluate, judge_of
from lab.judge.comparisons import Compare
from lab.judge.plotting import DPI
from lab.judge.results import EVIDENCE, MissingData, Results
from lab.options import SCALES
from lab.rooms import ROOT, House, judge
from lab.run.settings import check
from lab.sweep.prices import Prices
from tests.papers.judged import read_elsewhere

PAPERS = House().papers()
FIGURES = [(paper, name) for paper in PAPERS.values() for name in paper.figures]
COMMITTED = FIGURES + [(paper, name) for paper in ARENA.papers().values() for name in paper.figures]


def ids(values):
    return [f"{paper.name}-{name}" for paper, name in values]


# ---- experiments -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("paper", PAPERS.values(), ids=list(PAPERS))
def test_every_experiment_builds(paper, scale, tmp_path):
    """Each run has one config, which its script accepts, and each config one directory."""
    directories = {}
    for name, build in paper.experiments.items():
        entries = build(scale)
        assert entries or scale != "quick", f"{name} has no runs"  # what quick keeps in parts fits into one elsewhere
        labels = Counter((entry.method, entry.env, entry.seed) for entry in entries)
        assert max(labels.values(), default=1) == 1, f"{name}: {labels.most_common(1)}"
        for entry in entries:
            module, function = entry.target.split(":")
            script = importlib.import_module(module)
            assert callable(getattr(script, function)) and type(entry.config).__module__ == module
            assert entry.config.seed == entry.seed and pickle.loads(pickle.dumps(entry)) == entry
            check(entry.config)
            config = dataclasses.asdict(entry.config)
            assert directories.setdefault(entry.run_dir(tmp_path), (module, config)) == (module, config)
    for name, figure in paper.figures.items():
        runs = [part for part in figure.experiments if paper.experiments[part](scale)]
        assert runs or not figure.experiments or scale == "long", f"{name} has no runs"
    seeds = {
        (name, entry.method, entry.env): set() for name in paper.experiments for entry in paper.experiments[name](scale)
    }
    for name, build in paper.experiments.items():
        for entry in build(scale):
            seeds[name, entry.method, entry.env].add(entry.seed)
    assert all(len(of_one) == max(of_one) - min(of_one) + 1 for of_one in seeds.values()), "no seed is left out"


@pytest.mark.parametrize("scale", EVIDENCE)
@pytest.mark.parametrize("paper", PAPERS.values(), ids=list(PAPERS))
def test_labels_of_an_experiment_name_different_runs(paper, scale):
    """A setting that loses against another one would compare a method with itself."""
    for name in sorted(paper.experiments):
        if (name, scale) == ("own-law", "full"):
            continue  # NERS's widths are the paper's there, so that one of its readings is no change
        of_label = {}
        for entry in paper.experiments[name](scale):
            of_label.setdefault(entry.method, set()).add((entry.target, entry.config))
        alike = [{a, b} for a, b in combinations(of_label, 2) if of_label[a] == of_label[b]]
        assert not alike, f"{name}: {alike}"


# ---- figures ---------------------------------------------------------------------------------------------------------


def scales(paper, name: str) -> list[str]:
    """Scales at which the figure is committed."""
    return [scale for scale in EVIDENCE if paper.picture(name, scale).is_file()]


@pytest.mark.parametrize(("paper", "name"), COMMITTED, ids=ids(COMMITTED))
def test_committed_figures_are_drawn_from_committed_results(paper, name, tmp_path, monkeypatch):
    """The picture is that of today's code and data, its axes are labelled, and its words are in it and apart."""
    drawn: list[Canvas] = []
    save = Canvas.savefig
    monkeypatch.setattr(Canvas, "savefig", lambda self, *a, **k: (drawn.append(self), save(self, *a, **k))[1])
    for scale in scales(paper, name)[:1]:
        out = tmp_path / f"{scale}.png"
        paper.figures[name].draw(Results(paper.results), scale, out)
        look(drawn[-1])
        committed, ours = (
            np.asarray(Image.open(path).convert("L"), float) for path in (paper.picture(name, scale), out)
        )
        assert committed.shape == ours.shape, "out of date: run `make figures`"
        assert np.abs(committed - ours).mean() < 0.5, "out of date: run `make figures`"


def look(canvas: Canvas) -> None:
    """What can be said of every picture that was saved without knowing it."""
    canvas.set_dpi(DPI)  # as it was saved, which is when everything found its place
    renderer = FigureCanvasAgg(canvas).get_renderer()
    title = canvas.get_suptitle()
    assert title and "\n" not in title
    words = [text for part in (canvas, *canvas.subfigs) for text in part.texts if text.get_text()]
    words += [legend for part in canvas.subfigs for legend in part.legends]
    boxes = [word.get_window_extent(renderer) for word in words]
    for box in boxes:
        assert box.x0 >= -1 and box.y0 >= -1 and box.x1 <= canvas.bbox.x1 + 1 and box.y1 <= canvas.bbox.y1 + 1, (
            "cut off"
        )
    headings = [ax.title.get_window_extent(renderer) for ax in canvas.axes if ax.get_title()]
    for i, box in enumerate(headings):
        assert box.x0 >= -1 and box.x1 <= canvas.bbox.x1 + 1, "a panel's title is cut off"
        assert all(overlap(box, other) < 2 for other in headings[i + 1 :]), "panels' titles overlap"
    panels = [ax.get_tightbbox(renderer) for ax in canvas.axes if ax.get_visible() and ax.axison]
    for i, box in enumerate(boxes):
        for other in boxes[i + 1 :] + [panel for panel in panels if panel is not None]:
            assert overlap(box, other) < 2, "words overlap"
    for row in rows_of(canvas):
        lined = [ax for ax in row if ax.lines and ax.axison]
        assert not lined or any(ax.get_ylabel() for ax in lined), f"no label at the left of {title}"
    named = {round(ax.get_position().x0, 2) for ax in canvas.axes if ax.get_title()}  # columns with a heading
    for ax in canvas.axes:
        if ax.lines and ax.axison and round(ax.get_position().x0, 2) not in named:
            assert ax.get_ylabel() or ax.get_xlabel()


def overlap(a, b) -> float:
    """Height in pixels by which two boxes overlap; 0 where they lie side by side."""
    wide = min(a.x1, b.x1) - max(a.x0, b.x0)
    return max(0.0, min(a.y1, b.y1) - max(a.y0, b.y0)) if wide > 1 else 0.0


def rows_of(canvas: Canvas) -> list[list]:
    rows: dict[int, list] = {}
    for ax in canvas.axes:
        rows.setdefault(round(ax.get_position().y0, 2), []).append(ax)
    return list(rows.values())


@pytest.mark.parametrize(("paper", "name"), FIGURES, ids=ids(FIGURES))
def test_a_figure_without_results_says_what_is_missing(paper, name, tmp_path):
    figure = paper.figures[name]
    if figure.experiments:
        with pytest.raises(MissingData, match="results of"):
            figure.draw(Results(tmp_path), "quick", tmp_path / "a.png")
    assert not list(tmp_path.iterdir())


# ---- claims ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("paper", PAPERS.values(), ids=list(PAPERS))
def test_claims_without_results_are_not_run(paper, tmp_path):
    assert {verdict.status for _, verdict in evaluate(paper.claims, Results(tmp_path))} == {"not run"}


@pytest.mark.parametrize("paper", PAPERS.values(), ids=list(PAPERS))
def test_claims_are_judged_by_the_experiments_that_they_name(paper):
    """Else what is not run would have a wrong price, and `make evidence` would train something else."""
    assert not read_elsewhere(paper, {claim.id: verdict for claim, verdict in judge(paper)})


@pytest.mark.parametrize("paper", PAPERS.values(), ids=list(PAPERS))
def test_claims_say_what_they_are(paper):
    """What only we ask is called own, and every claim is judged by a function that a reader can find."""
    prices = Prices(paper)
    for claim in paper.claims:
        assert set(prices.experiments(claim)) <= paper.experiments.keys(), claim.id
        runs = [entry for name in prices.experiments(claim) for entry in prices.plans[name, claim.scale]]
        assert set(claim.tasks) <= {entry.env for entry in runs}, claim.id
        assert runs or claim.scale == "quick", f"{claim.id}: nothing is planned at {claim.scale}"
        file, _ = judge_of(claim, ROOT, f"papers/{paper.name}")
        assert (ROOT / file).is_file(), claim.id
        assert claim.text and claim.paper_value and not claim.text.endswith("."), claim.id
        if claim.id.startswith("own-"):
            assert claim.kind == "own", claim.id


@pytest.mark.parametrize("paper", PAPERS.values(), ids=list(PAPERS))
def test_lengths_that_claims_name_are_those_of_their_runs(paper):
    """What a variant sets may be overridden by its task, so that runs were shorter than what is registered."""
    prices = Prices(paper)
    for claim in paper.claims:
        runs = [entry for name in prices.experiments(claim) for entry in prices.plans[name, claim.scale]]
        for number in re.findall(r"(?:after|for|and) ([\d,]+,000) (?:steps|actions)", claim.text):
            assert {entry.config.steps for entry in runs} == {int(number.replace(",", ""))}, claim.id


@pytest.mark.parametrize("paper", PAPERS.values(), ids=list(PAPERS))
def test_what_claims_compare_is_planned(paper):
    """A misspelt method or task would be "not run" for ever."""
    for claim in (claim for claim in paper.claims if isinstance(claim.check, Compare)):
        check = claim.check
        names = check.of.split("+") if isinstance(check.of, str) else check.of
        runs = [entry for name in names for scale in EVIDENCE for entry in paper.experiments[name](scale)]
        parts = check.what.values() if isinstance(check.what, dict) else [check.what]
        methods = {x for part in parts if not callable(part) for x in (part[0], part[2]) if isinstance(x, str)}
        planned = {entry.method for entry in runs} | {entry.method.partition(" ")[2] for entry in runs}
        assert methods <= planned, claim.id
        if all(callable(part) for part in parts):
            continue  # functions know where they look
        on = [check.on.get(scale, ()) for scale in EVIDENCE] if isinstance(check.on, Mapping) else [check.on or ()]
        tasks = {env for some in on for env in ((some,) if isinstance(some, str) else some)}
        missing = tasks - {entry.env for entry in runs}
        if check.room.places:
            missing -= {place.name for name in names for scale in EVIDENCE for place in check.room.places(name, scale)}
        assert not missing or (check.room.places and missing < tasks), claim.id  # places drops what is not planned
