"""`make read`: pages that show the whole of the code, each tagged equation, and nothing from elsewhere."""

import ast
import io
import re
import tokenize
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest

from lab.pages.equations import load, mathml, numbers, render, tagged
from lab.pages.read import SHARED, Site, boxes, main, prose, sources
from lab.pages.sections import Section, split
from lab.rooms import ROOT, House
from lab.run.errors import UserError

ROOMS = {name: paper.folder for name, paper in House().papers().items()}


class Page(HTMLParser):
    """What a test asks of a page: addresses, names that can be linked to, and the text of each column."""

    VOID = ("meta", "link", "img", "br", "hr", "input")

    def __init__(self, html: str):
        super().__init__()
        self.addresses: list[str] = []
        self.ids: list[str] = []
        self.tags: set[str] = set()
        self.column = {".text": [], ".code": []}
        self.open: list[str] = []
        self.items = 0
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.tags.add(tag)
        self.addresses += [values[name] for name in ("href", "src") if values.get(name)]
        self.ids += [values["id"]] if "id" in values else []
        if tag == "section":  # the columns are cut at the end of a line
            self.column = {name: [*parts, "\n"] for name, parts in self.column.items()}
        if tag == "ol":
            self.items = 0
        if tag == "li" and self.open[-1] == "ol":  # its number is drawn by the browser
            self.items += 1
            self.handle_data(f"{self.items}. ")
        if tag not in self.VOID:
            self.open.append(f".{values['class']}" if values.get("class") else tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            self.open.pop()

    def handle_data(self, data):
        for name, parts in self.column.items():
            if name in self.open:
                parts.append(data)


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("read") / "site"
    assert main(["--out", str(out)]) == 0
    return out


@pytest.fixture(scope="module")
def pages(site) -> dict[Path, Page]:
    return {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}


# ---- a file in sections ----------------------------------------------------------------------------------------------

SNIPPET = '''"""What the file is for.

It ends behind text."""
import numpy as np

# Above the class
@decorated(
    1,
)
class Setting:
    """A setting,
    in two lines."""

    size: int = 1
    """Help with a # in it."""
    text = """
# no comment
    """

    def method(self):
        def inner():
            pass

        # first
        # second
        return "# no comment"  # Eq. (1)

    def other(self): ...


VALUE = 2
'''


def test_a_file_is_cut_where_something_begins():
    sections = split(SNIPPET)
    assert [(section.line, section.name) for section in sections] == [
        (1, ""), (6, "Setting"), (14, ""), (20, "Setting.method"), (24, ""), (28, "Setting.other"), (31, ""),
    ]  # fmt: skip
    first, setting, field, method, comment, _, value = sections
    assert first.docs == ["What the file is for.\n\nIt ends behind text."] and first.code[0] == "import numpy as np"
    assert setting.docs == ["Above the class", "A setting,\nin two lines."]
    assert [line for line in setting.code if line] == ["@decorated(", "    1,", ")", "class Setting:"]
    assert field.docs == ["Help with a # in it."]
    assert field.code[:4] == ["    size: int = 1", '    text = """', "# no comment", '    """']
    assert not method.docs and "        def inner():" in method.code
    assert comment.docs == ["first\nsecond"] and comment.comments == ["first", "second", "Eq. (1)"]
    assert value.code[0] == "VALUE = 2"


def test_a_function_inside_another_stays_there_unless_it_has_a_docstring():
    source = 'def f():\n    """Doc."""\n\n    def g():\n        pass\n\n    def h():\n        """Doc."""\n'
    assert [section.name for section in split(source)] == ["f", "f.h"]
    (section,) = split('def f(): """Short."""\n')
    assert section.code[0] == 'def f(): """Short."""' and not section.docs


def test_comments_keep_their_characters_and_the_lines_of_lists():
    text = "Draws x*y*z with `a[0]`,\na < b & c.\nArgs:\n    n: how many\n        of them.\n\nX\ny."
    docs = "Draws x*y*z with <code>a[0]</code>, a &lt; b &amp; c. Args:\n    n: how many\n        of them.\n\nX y."
    assert prose(text) == docs


def methods(room: str) -> list[Path]:
    """Files of a room without its evidence."""
    return [path for path in ROOMS[room].rglob("*.py") if "evidence" not in path.parts]


# ---- equations -------------------------------------------------------------------------------------------------------


def test_tags_are_read():
    assert numbers("Eqs. (3), (5) to (7) and (9a); Eq. (11)") == {
        "Eq. (3)", "Eq. (5)", "Eq. (6)", "Eq. (7)", "Eq. (9a)", "Eq. (11)",
    }  # fmt: skip
    assert numbers("Eqs. (7)\nand (8)") == {"Eq. (7)", "Eq. (8)"} and not numbers("an equation (8)")
    headings = ["Eq. (1)", "Algorithm 1", "Algorithm 2", "Sec. 4", "App. B"]
    assert tagged("Algorithm 1, lines 2-3; Sec. 4.2; Appendix B; Eq. (12)", headings) == ["Algorithm 1", "App. B"]
    assert tagged("Algorithms 1 and 2", headings) == ["Algorithm 1", "Algorithm 2"]
    assert tagged("(Wang et al. 2017, their Algorithm 1); (2017, Algorithm 2)", headings) == []


@pytest.mark.parametrize("latex", [r"\nosuchcommand x", r"\frac{a}", r"\left( a", "a_b_c", "a & b"])
def test_broken_latex_is_found(latex):
    with pytest.raises(ValueError):
        mathml(latex)


def test_formulas_are_drawn_and_code_is_left_alone():
    html = render("with $a_b$ and `$x$`: $$\\begin{aligned} a &= b \\\\ c &= d \\end{aligned}$$", "here")
    assert html.count("<math") == 2 and "<code>$x$</code>" in html and "msub" in html and html.count("<mtr>") == 2
    assert "$" not in render("$a*b*c$ and $d_e$", "here")


def test_broken_latex_costs_one_line_that_names_file_and_equation(tmp_path):
    path = tmp_path / "EQUATIONS.md"
    path.write_text("# Equations\n\n## Eq. (1)\nFine.\n$$ a $$\n\n## Eq. (2)\nNot.\n$$ \\frac{a} $$\n")
    with pytest.raises(UserError, match=r"papers/x/EQUATIONS\.md, Eq\. \(2\): cannot convert .*frac") as error:
        load(path, "papers/x/EQUATIONS.md")
    assert "\n" not in str(error.value)


def test_an_equation_stands_once_beside_its_section_and_open_where_a_line_has_its_number(site):
    section = Section(1, comments=["Eq. (1)", "Eq. (1)"], docstring="Eqs. (1) and (2), Algorithm 1")
    found = boxes(section, ["Eq. (1)", "Eq. (2)", "Eq. (3)", "Algorithm 1"])
    assert found == [("Eq. (1)", True), ("Eq. (2)", False), ("Algorithm 1", False)]
    html = (site / "papers" / "ref_er" / "refer.html").read_text(encoding="utf-8")
    row = html.partition('<section id="ReFER.gradient">')[2].partition("</section>")[0]
    assert row.count('<details class="equation" open><summary>Eq. (10)</summary>') == 1 and "<math" in row


def text_of(path: Path) -> str:
    """Comments and docstrings of a file."""
    return "\n".join(f"{' '.join(section.comments)}\n{section.docstring}" for section in split(path.read_text()))


def code_of(room: str) -> dict[Path, str]:
    """Comments and docstrings of a paper's files, and of those elsewhere that its README's equation table names."""
    elsewhere = re.findall(r"`((?:common|envs)/[\w/]+\.py):", (ROOMS[room] / "README.md").read_text())
    paths = [*methods(room), *(ROOT / name for name in dict.fromkeys(elsewhere))]
    return {path: text_of(path) for path in paths}


@pytest.mark.parametrize("room", ROOMS)
def test_every_tagged_equation_is_in_the_list_and_can_be_drawn(room):
    equations = load(ROOMS[room] / "EQUATIONS.md", f"papers/{room}/EQUATIONS.md")
    own = methods(room)
    missing = {path.name: absent for path in own if (absent := numbers(text_of(path)) - set(equations))}
    assert not missing
    undrawn = [heading for heading, body in equations.items() if heading.startswith("Eq.") and "<math" not in body]
    assert not undrawn


@pytest.mark.parametrize("room", ROOMS)
def test_every_listed_equation_is_tagged_in_the_code(room):
    equations = load(ROOMS[room] / "EQUATIONS.md", f"papers/{room}/EQUATIONS.md")
    found = tagged("\n".join(code_of(room).values()), equations)
    assert [heading for heading in equations if heading not in found] == []
    headings = re.findall(r"^## (.+)$", (ROOMS[room] / "EQUATIONS.md").read_text(), flags=re.MULTILINE)
    assert len(headings) == len(set(headings))


# ---- the pages -------------------------------------------------------------------------------------------------------


def words(text: str) -> Counter:
    return Counter(re.findall(r"\w+", text))


def said_and_done(source: str) -> tuple[str, list[str]]:
    """Comments and docstrings of a file as one text, and the other lines that are not blank."""
    lines = dict(enumerate(source.split("\n"), 1))
    said = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            said.append(node.value.value)
            for number in range(node.lineno, node.end_lineno + 1):
                del lines[number]
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and token.line.lstrip().startswith("#"):
            said.append(lines.pop(token.start[0]).lstrip(" #"))
    return re.sub(r":\w+:(?=`)", "", "\n".join(said)), [line for line in lines.values() if line.strip()]


@pytest.mark.parametrize("folder", [*ROOMS.values(), *SHARED], ids=lambda folder: folder.name)
def test_a_page_has_its_whole_file_once(site, pages, folder):
    made = Site(site)
    for path in (path for path in sources(folder) if path.suffix == ".py"):
        page = pages[made.pages[path]]
        said, done = said_and_done(path.read_text(encoding="utf-8"))
        assert [line for line in "".join(page.column[".code"]).split("\n") if line.strip()] == done, path.name
        assert words("".join(page.column[".text"])) == words(said), path.name


def test_methods_have_pages_and_evidence_has_none(site, pages):
    names = {path.relative_to(site).as_posix() for path in pages}
    assert {"index.html", "papers/ter/index.html", "papers/ter/topological.html", "papers/ter/EQUATIONS.html"} <= names
    assert {"common/networks.html", "common/replay/sum_tree.html"} <= names
    listed = {path for room in ROOMS.values() for path in sources(room)}
    assert not [path for path in listed if "evidence" in path.parts or path.name == "__init__.py"]


def test_links_lead_somewhere_and_nothing_is_loaded_from_elsewhere(site, pages):
    for path, page in pages.items():
        assert len(page.ids) == len(set(page.ids)), f"{path.name} has one name twice"
        assert not page.tags & {"script", "iframe", "object", "embed"}, path.name
        html = path.read_text(encoding="utf-8")
        assert not re.search(r"""<(?:link|img)[^>]*(?:href|src)=["'](?:\w+:)?//""", html), path.name
        for address in page.addresses:
            if re.match(r"\w+:", address):
                continue
            file, _, anchor = address.partition("#")
            target = (path.parent / file).resolve() if file else path
            assert target.exists(), f"{path.name}: {address}"
            assert not anchor or target not in pages or anchor in pages[target].ids, f"{path.name}: {address}"
        assert not re.search(r"url\(|@import", html), path.name


@pytest.mark.parametrize("room", ROOMS)
def test_a_paper_opens_with_its_reading_path(site, pages, room):
    html = (site / "papers" / room / "index.html").read_text(encoding="utf-8")
    headings = re.findall(r"<h2[^>]*>(.*?)</h2>", html)
    assert headings[0] == "Read it in five minutes" and "The idea" in headings
    path = html.partition("five minutes</h2>")[2].partition("<h2")[0]
    assert len(re.findall(r'<a href="\w+\.html', path)) >= 3
    assert re.search(r'<a href="\w+\.html#[\w.]+"><code>', html)  # and names functions at their place


# ---- the command -----------------------------------------------------------------------------------------------------


def test_a_folder_of_others_is_left_alone(tmp_path, site, one_line):
    assert main(["--out", str(site)]) == 0, "its own pages are written again"
    (tmp_path / "index.html").write_text("mine")
    for out, words in ((tmp_path, "something other"), (tmp_path / "index.html", "index.html")):
        assert words in one_line(main, ["--out", str(out)])
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]
