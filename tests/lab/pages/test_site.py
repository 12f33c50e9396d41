"""`make site`: one navigation, links that lead somewhere, pages small enough for a phone, nothing from elsewhere."""

import base64
import json
import re
from pathlib import Path

import pytest

from lab.pages import executed
from lab.pages.html import navigation
from lab.pages.site import main
from lab.rooms import ROOT
from lab.run.errors import UserError
from tests.lab.pages.test_read import Page

LARGEST = 1_500_000


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """All pages, with an executed notebook that was there before."""
    out = tmp_path_factory.mktemp("whole") / "site"
    (out / "notebooks").mkdir(parents=True)
    picture = {"output_type": "display_data", "data": {"image/png": base64.b64encode(b"a picture").decode()}}
    printed = {"output_type": "stream", "name": "stdout", "text": ["1 < 2\n"]}
    cells = [
        {"cell_type": "markdown", "source": ["## An idea\n", "$x^2$"]},
        {"cell_type": "code", "source": "print('1 < 2')", "outputs": [printed, picture]},
    ]
    (out / "notebooks/ter.ipynb").write_text(json.dumps({"cells": cells}), encoding="utf-8")
    assert main(["--out", str(out)]) == 0
    return out


@pytest.fixture(scope="module")
def texts(site) -> dict[Path, str]:
    return {path: path.read_text(encoding="utf-8") for path in site.rglob("*.html")}


def test_every_link_leads_somewhere_within_the_site(site, texts):
    pages = {path: Page(text) for path, text in texts.items()}
    for path, page in pages.items():
        for address in page.addresses:
            if re.match(r"\w+:", address):
                continue
            file, _, anchor = address.partition("#")
            target = (path.parent / file).resolve() if file else path
            assert target.is_file() and target.is_relative_to(site), f"{path.relative_to(site)}: {address}"
            assert not anchor or target not in pages or anchor in pages[target].ids, f"{path.name}: {address}"


def test_all_pages_have_the_same_navigation(site, texts):
    names = [name for name, _ in navigation(site, site / "index.html")]
    assert names[:5] == ["Start", "Findings", "Guide", "Results", "Report"]
    assert {"HER", "NERS", "ReF-ER", "TER", "Arena", "Errata"} < {*names}
    for path, text in texts.items():
        [bar] = re.findall(r'<nav class="top">(.*?)</nav>', text, flags=re.DOTALL)
        assert re.findall(r">([^<>\n]+)</[ab]>", bar) == names, path.relative_to(site)


def test_texts_and_pictures_of_the_papers_are_there(site):
    for path in [*ROOT.glob("*.md"), *ROOT.glob("papers/*/*.md")]:
        page = path.relative_to(ROOT).with_suffix(".html")
        assert (site / (page.with_name("index.html") if path.name == "README.md" else page)).is_file(), path
    for picture in ROOT.glob("papers/*/evidence/figures/*/*.png"):
        assert (site / picture.relative_to(ROOT)).read_bytes() == picture.read_bytes()


def test_pages_are_small_and_load_nothing_from_elsewhere(site, texts):
    for path, text in texts.items():
        assert len(text.encode()) <= LARGEST, path.relative_to(site)
        assert not re.search(r"url\(|@import|<(?:iframe|object|embed|link)\b", text), path.relative_to(site)
        assert not re.search(r"""<(?:img|script)[^>]*src=["'](?:\w+:)?//""", text), path.relative_to(site)


def test_executed_notebooks_become_pages(site):
    text = (site / "notebooks/ter.html").read_text(encoding="utf-8")
    assert (
        "<math" in text
        and "<pre>1 &lt; 2\n</pre>" in text
        and (site / "notebooks/ter-1.png").read_bytes() == b"a picture"
    )
    assert {"ter-1.png", "ter.ipynb", "../papers/ter/index.html"} < {*Page(text).addresses}
    assert "../../notebooks/ter.html" in Page((site / "papers/ter/index.html").read_text(encoding="utf-8")).addresses


def test_a_damaged_notebook_costs_one_line(tmp_path, one_line):
    path = tmp_path / "notebooks/ter.ipynb"
    path.parent.mkdir()
    for text in ("[]", '{"cells": [{}]}', "{"):
        path.write_text(text)
        with pytest.raises(UserError, match=r"ter\.ipynb is not a notebook"):
            executed.body(path)
    assert "ter.ipynb is not a notebook" in one_line(main, ["--out", str(tmp_path)])
