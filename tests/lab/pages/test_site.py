"""`make site`: one navigation, links that lead somewhere, pages small enough for a phone, nothing from elsewhere."""

import re
from pathlib import Path

import pytest

from lab.pages.html import navigation
from lab.pages.site import main
from lab.rooms import ROOT
from tests.lab.pages.test_read import Page

LARGEST = 1_500_000


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("whole") / "site"
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
    assert names[:4] == ["Start", "Guide", "Results", "Report"] and {"HER", "NERS", "ReF-ER", "TER", "Arena"} < {*names}
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
