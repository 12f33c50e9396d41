"""The house as a whole: imports, Makefile, README, requirements, equation tables, generated files."""

import ast
import functools
import re
import subprocess
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from arena.__main__ import HOUSE as ARENA
from lab.commands import claim_pages
from lab.rooms import House
from tests.processes import fresh

ROOT = Path(__file__).resolve().parents[1]
PAPERS = House().papers()
ROOMS = sorted(path.parents[1].name for path in (ROOT / "papers").glob("*/evidence/experiments.py"))
README = (ROOT / "README.md").read_text()
GALLERY = (ROOT / "GALLERY.md").read_text()


@functools.cache
def project_files() -> list[Path]:
    """Files that git tracks or would track."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("not a git checkout")
    return [path for name in done.stdout.split("\0") if name and (path := ROOT / name).is_file()]


# ---- imports go one way ----------------------------------------------------------------------------------------------
def modules() -> dict[str, Path]:
    """Every module of the product by its name."""
    files = [
        path
        for place in ("adapters", "arena", "common", "envs", "lab", "papers")
        for path in (ROOT / place).rglob("*.py")
    ]
    return {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in files}


def imports(path: Path) -> set[str]:
    """Modules and names that a file imports, wherever in the file, with absolute names."""
    return imported(ast.parse(path.read_text()), path.relative_to(ROOT).parent.parts)


def imported(tree: ast.AST, package: tuple[str, ...]) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parent = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*parent, *([node.module] if node.module else [])])
            found |= {f"{module}.{alias.name}" for alias in node.names}
    return found


def allowed(path: Path, module: str) -> bool:
    """Whether the file may import `module` (or a name of it)."""
    top, *rest = module.split(".")
    place, *below = path.relative_to(ROOT).parts
    if top not in ("adapters", "arena", "papers", "common", "envs", "lab", "tests", "benchmarks"):
        return True
    evidence = below[1] == "evidence" if len(below) > 2 else False
    of_the_lab = top == "lab" and (evidence or rest[0] == "run")
    if place == "arena":  # methods of all rooms, no evidence but its own; it starts as the lab does
        starts = below == ["__main__.py"] and top == "lab"
        own = top == "arena" and (evidence or rest[1:2] != ["evidence"])
        return own or starts or of_the_lab or top in ("common", "envs") or (top == "papers" and "evidence" not in rest)
    if place == "adapters":  # methods and what they stand on, no evidence
        return top in ("adapters", "common") or (top == "papers" and rest[1:2] != ["evidence"])
    if place in ("common", "envs"):  # nothing of the house; environments may use what is common
        return top in (place, "common")
    if place == "lab":
        return top in ("lab", "common", "envs")
    if top == "papers":  # its own room; what is not evidence never looks at evidence
        return rest[:1] == below[:1] and (evidence or rest[1:2] != ["evidence"])
    return top in ("common", "envs") or of_the_lab


def test_imports_go_one_way():
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in modules().values()
        for name in sorted(imports(path))
        if not allowed(path, name)
    ]
    assert not wrong


def test_the_rule_of_imports_itself():
    right = [
        ("papers/ter/train.py", "lab.run.runs.Run"),
        ("papers/ter/train.py", "papers.ter.topological"),
        ("papers/ter/evidence/figures.py", "lab.judge.plotting.save"),
        ("papers/ter/evidence/figures.py", "papers.ter.train"),
        ("lab/watch/film.py", "envs.window"),
        ("adapters/torchrl.py", "papers.ter.topological"),
        ("arena/__main__.py", "lab.rooms.House"),
        ("arena/replay/tasks.py", "papers.ners.agents.sac"),
        ("arena/replay/evidence/claims.py", "lab.judge.verdicts.decide"),
    ]
    wrong = [
        ("papers/ter/train.py", "lab.rooms.House"),
        ("papers/ter/train.py", "papers.ter.evidence.experiments"),
        ("papers/ter/train.py", "papers.ners.train"),
        ("papers/ter/evidence/figures.py", "papers.ners.train"),
        ("lab/pages/report.py", "papers.ter.train"),
        ("lab/run/runs.py", "papers.ter.train"),
        ("common/pixels.py", "envs.minigrid.tasks"),
        ("common/replay/storage.py", "lab.run.errors.UserError"),
        ("adapters/torchrl.py", "papers.ter.evidence.experiments"),
        ("papers/ter/train.py", "adapters.torchrl"),
        ("papers/ter/train.py", "arena.replay.ideas"),
        ("lab/rooms.py", "arena.replay.ideas"),
        ("arena/replay/tasks.py", "papers.ter.evidence.experiments"),
        ("arena/replay/tasks.py", "lab.rooms.House"),
        ("arena/replay/train.py", "arena.replay.evidence.experiments"),
    ]
    assert all(allowed(ROOT / path, module) for path, module in right)
    assert not any(allowed(ROOT / path, module) for path, module in wrong)


def test_scripts_name_the_literal_learner_and_choose_its_twin_by_a_table():
    """`FAST = {SAC: FastSAC}` at its top, and below `fast(SAC, FAST, device)`, so that one meets the tagged form."""
    of_twins = r"papers\.\w+\.(agents|samplers)\.fast"
    twins, tables, wrong = {}, set(), []
    trees = {
        name: ast.parse(path.read_text()) for name, path in modules().items() if name.startswith(("papers.", "arena."))
    }
    for name, tree in trees.items():
        if re.match(of_twins, name):
            for node in tree.body:
                if isinstance(node, ast.ClassDef) and node.name.startswith("Fast") and node.bases:
                    twins[f"{name}.{node.name}"] = ast.unparse(node.bases[-1])
    for name, tree in trees.items():
        if re.match(of_twins, name):
            continue  # a twin may be made of another
        found = imported(tree, tuple(name.split(".")[:-1])) & twins.keys()
        here = {twin.rpartition(".")[2]: twin for twin in found}
        for node in tree.body:
            if (
                isinstance(node, ast.Assign)
                and ast.unparse(node.targets[0]) == "FAST"
                and isinstance(node.value, ast.Dict)
            ):
                pairs = zip(map(ast.unparse, filter(None, node.value.keys)), map(ast.unparse, node.value.values))
                tables |= {(here[twin], literal) for literal, twin in pairs}
                node.value = ast.Constant(None)
        wrong += [f"{name} names {n.id}" for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id in here]
    assert not wrong
    assert tables == set(twins.items()) and len(tables) >= 8


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups of nodes that reach each other (graph: node -> nodes it points to)."""
    reach: dict[str, set[str]] = {}
    for start in graph:
        seen, todo = set(), list(graph[start])
        while todo:
            if (node := todo.pop()) not in seen:
                seen.add(node)
                todo += graph.get(node, ())
        reach[start] = seen
    groups = {tuple(sorted(b for b in reach[a] if a in reach.get(b, ()))) for a in graph if a in reach[a]}
    return [list(group) for group in sorted(groups)]


def test_no_circle_of_imports():
    """File by file, imports inside of functions and for type checkers included."""
    files = modules()

    def file_of(name: str) -> str | None:
        return next((part for part in (name, name.rpartition(".")[0]) if part in files), None)

    graph = {
        module: {target for name in imports(path) if (target := file_of(name)) not in (None, module)}
        for module, path in files.items()
    }
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [["b", "c"]], "the rule itself"
    assert not circles(graph)


def test_optional_packages_are_imported_where_they_are_needed():
    """Inside of functions, or in adapters, which nothing else imports: everything else works without them."""
    optional = {"ray", "submitit", "tensorboard", "torch.utils.tensorboard", "sklearn", "pfrl", "stable_baselines3",
                "torchrl", "cpprb", "safetensors", "safetensors.torch", "huggingface_hub",
                "wandb"}  # fmt: skip
    for path in (path for module, path in modules().items() if not module.startswith("adapters")):
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                node.body = []
        found = {name.partition(".")[0] for name in imported(tree, ())} | imported(tree, ())
        assert not found & optional, path


def test_claims_are_judged_without_drawing():
    """No module of claims imports matplotlib or a module of figures, directly or through others."""
    files = modules()
    direct = {module: imports(path) for module, path in files.items()}

    def reached(module: str, seen: set[str]) -> set[str]:
        for name in direct[module]:
            top = name.partition(".")[0]
            target = next((part for part in (name, name.rpartition(".")[0]) if part in files), None)
            if top == "matplotlib":
                seen.add("matplotlib")
            elif target and target not in seen:
                seen.add(target)
                reached(target, seen)
        return seen

    for module in files:
        if re.fullmatch(r"(papers\.\w+|arena\.replay)\.evidence\.(claims|comparisons|gains)\w*", module):
            drawn = {name for name in reached(module, set()) if name == "matplotlib" or ".figures" in name}
            assert not drawn, f"{module} imports {', '.join(sorted(drawn))}"


# ---- Makefile --------------------------------------------------------------------------------------------------------
def make(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(["make", *arguments], cwd=ROOT, env=fresh(), capture_output=True, text=True)


@functools.cache
def phony_targets() -> list[str]:
    database = make("--print-data-base", "--dry-run", "help").stdout
    return re.search(r"^\.PHONY: (.*)$", database, re.M)[1].split()


def test_make_alone_lists_every_target_with_minutes_and_text():
    done = make()
    assert done.returncode == 0 and done.stdout == make("help").stdout
    rows = {m[1]: m[2] for line in done.stdout.splitlines() if (m := re.match(r"  (\S+) +[\d.<]+ min  (.+)$", line))}
    assert list(rows) == phony_targets()
    needed = "help setup test lint smoke reproduce evidence all figures claims compare report bench clean".split()
    assert set(needed) <= set(rows)
    assert max(map(len, done.stdout.splitlines())) <= 120


def test_every_target_has_a_recipe():
    done = make("--dry-run", *phony_targets())
    assert done.returncode == 0 and "Nothing to be done" not in done.stdout, done.stdout


@pytest.mark.parametrize("paper", PAPERS.values(), ids=lambda paper: paper.name)
def test_targets_and_figures_are_the_same(paper):
    room = paper.name.replace("_", "-")
    assert room in phony_targets()
    targets = {name.removeprefix(f"{room}-") for name in phony_targets() if name.startswith(f"{room}-")}
    assert targets == {name.replace("_", "-") for name in paper.figures}


# ---- papers ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("paper", PAPERS.values(), ids=lambda paper: paper.name)
def test_figures_claims_and_headline_name_what_exists(paper):
    assert {name for figure in paper.figures.values() for name in figure.experiments} <= set(paper.experiments)
    assert set(paper.headline) <= set(paper.figures)
    figures = {name.replace("_", "-") for name in paper.figures}
    assert {claim.figure.replace("_", "-") for claim in paper.claims} <= figures


def functions_of(path: Path) -> dict[str, ast.AST]:
    """Functions, classes and methods ("Class.method") of a file."""

    def walk(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, ast.AST]]:
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                yield prefix + node.name, node
                yield from walk(node.body, f"{prefix}{node.name}.")

    return dict(walk(ast.parse(path.read_text()).body, ""))


def references(text: str) -> set[str]:
    """What "Eq. (8)", "Eqs. (3) and (4)", "Algorithm 1, lines 2 and 8-10" in a text refer to, one entry per line."""
    found = set()
    for group in re.findall(r"Eqs?\. (\([\w.]+\)(?:(?:, | and )\([\w.]+\))*)", text):
        found |= {f"Eq. {number}" for number in re.findall(r"\([\w.]+\)", group)}
    for number, lines in re.findall(r"Algorithm (\d+)(?:, lines? (\d+(?:(?:-|, | and )\d+)*))?", text):
        spans = [span.split("-") for span in re.split(", | and ", lines)] if lines else []
        found |= {f"Algorithm {number}, line {n}" for span in spans for n in range(int(span[0]), int(span[-1]) + 1)}
        found |= set() if lines else {f"Algorithm {number}"}
    return found


def test_references_are_read_line_by_line():
    assert references("Eqs. (3), (4) and (5a): Algorithm 1, lines 2 and 8-9") == {
        "Eq. (3)", "Eq. (4)", "Eq. (5a)", "Algorithm 1, line 2", "Algorithm 1, line 8", "Algorithm 1, line 9",
    }  # fmt: skip
    assert references("(Algorithm 2)") == {"Algorithm 2"} and not references("an equation (8)")


def comments(path: Path, node: ast.AST | None = None) -> str:
    """Comments of a file, or of the lines of one of its functions or classes."""
    first, last = (node.lineno, node.end_lineno) if node else (0, 10**9)  # type: ignore[attr-defined]
    with path.open("rb") as file:
        tokens = [token for token in tokenize.tokenize(file.readline) if first <= token.start[0] <= last]
    return "\n".join(token.string for token in tokens if token.type == tokenize.COMMENT)


def equation_table(room: str) -> list[tuple[str, list[tuple[Path, str]]]]:
    """Rows of the README's tables that name code: (first cell, functions as (file, name))."""
    rows = []
    for line in (ROOT / "papers" / room / "README.md").read_text().splitlines():
        places = re.findall(r"`([\w/]+\.py):([\w.]+)(?:\(\))?`", line)
        if line.startswith("|") and places:
            own = [ROOT / "papers" / room / file for file, _ in places]
            files = [path if path.exists() else ROOT / file for path, (file, _) in zip(own, places)]
            rows.append((line.split("|")[1], [(path, name) for path, (_, name) in zip(files, places)]))
    return rows


WITH_README = [room for room in ROOMS if (ROOT / "papers" / room / "README.md").exists()]


@pytest.mark.parametrize("room", WITH_README)
def test_equation_table_names_functions_that_exist(room):
    table = equation_table(room)
    assert table, f"papers/{room}/README.md has no table from equations to `file.py:function`"
    for _, places in table:
        for path, name in places:
            assert path.exists(), f"{path.relative_to(ROOT)} does not exist"
            assert name in functions_of(path), f"{path.relative_to(ROOT)} has no {name}"


@pytest.mark.parametrize("room", WITH_README)
def test_equations_of_the_code_are_in_the_table(room):
    listed = set().union(*(references(cell) for cell, _ in equation_table(room)))
    for path in sorted((ROOT / "papers" / room).rglob("*.py")):
        assert references(comments(path)) <= listed, f"{path.name}: not in the table of papers/{room}/README.md"


@pytest.mark.parametrize("room", WITH_README)
def test_equations_of_the_table_are_in_the_code_it_names(room):
    for cell, places in equation_table(room):
        nodes = [(path, functions_of(path)[name]) for path, name in places]
        text = "\n".join(part for path, node in nodes for part in (ast.get_docstring(node) or "", comments(path, node)))
        missing = references(cell) - references(text)
        assert not missing, f"not in {[path.name for path, _ in places]}, where the table of papers/{room} sends them"


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_is_seen_at_a_glance(room):
    """At most ten entries besides its pages, and every script that trains is called so."""
    folder = ROOT / "papers" / room
    entries = {path.name for path in folder.iterdir()} - {"__init__.py", "__pycache__"}
    assert len([name for name in entries if not name.endswith(".md")]) <= 10, sorted(entries)
    scripts = {path.name for path in folder.glob("*.py") if "cli(Config, main" in path.read_text()}
    assert scripts == {name for name in entries if re.fullmatch(r"train(_\w+)?\.py", name)}


# ---- files -----------------------------------------------------------------------------------------------------------
def test_the_readme_is_short():
    """Its first screen says what this is, what was found, and how one figure is made."""
    lines = README.splitlines()
    assert len(lines) <= 110 and README.count("<img") + README.count("![") <= 5
    first = "\n".join(lines[:40])
    assert all(f"](papers/{room})" in first for room in ROOMS)
    assert "make reproduce" in first and "make ter-fig2" in first


def test_links_exist():
    """Of the pages at the top and of the rooms: files and pictures."""
    for path in (*ROOT.glob("*.md"), *(ROOT / "papers").glob("*/*.md")):
        text = path.read_text()
        for link in re.findall(r"\]\(([^)#:]+)\)", text) + re.findall(r'src="([^"]+)"', text):
            assert (path.parent / link).exists(), f"{path}: {link}"


def test_one_version():
    """In pyproject.toml, CITATION.cff and at the top of CHANGELOG.md."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert re.search(r"^## ([\d.]+)", (ROOT / "CHANGELOG.md").read_text(), re.M)[1] == version


def test_links_to_sections_lead_to_a_heading():
    """As GitHub names headings: lower case, without punctuation, with hyphens for spaces."""
    for path in (*ROOT.glob("*.md"), *(ROOT / "papers").glob("*/*.md")):
        for file, section in re.findall(r"\]\(([^)#:]*\.md|)#([^)]+)\)", path.read_text()):
            headings = re.findall(r"^#+ (.+)$", (path.parent / file if file else path).read_text(), re.M)
            names = [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings]
            assert section in names, f"{path}: {file}#{section}"


def test_the_tests_that_their_readme_names_exist():
    for line in (ROOT / "tests/README.md").read_text().splitlines():
        text = ""
        for name in re.findall(r"`([\w/]+\.py|test_\w+)`", line):
            if name.endswith(".py"):
                text = (ROOT / "tests" / name).read_text()
            else:
                assert f"def {name}(" in text, line


def test_every_erratum_names_a_test_that_exists():
    """Place, printed, right, consequence, test: a short row each, and a table for each paper."""
    found = Counter()
    for section in re.split("^## ", (ROOT / "ERRATA.md").read_text(), flags=re.M)[1:]:
        for row in re.findall(r"^\| (?!place)[^-].*$", section, re.M):
            cells = row.strip("| ").split(" | ")
            assert len(cells) == 5 and all(cells) and len(row) <= 400, row
            file, name = re.fullmatch(r"`([\w/]+\.py)::(test_\w+)`", cells[-1]).groups()
            assert f"\ndef {name}(" in (ROOT / "tests" / file).read_text(), row
            found[section.partition("\n")[0]] += 1
    assert len(found) == len(ROOMS) and min(found.values()) >= 10


def test_results_are_small_files():
    """The runs of a figure that need more are several experiments, read as one."""
    large = {str(path): path.stat().st_size for path in ROOT.glob("*/*/evidence/results/*/*.csv")}
    assert large and max(large.values()) < 2_000_000, large


def test_every_trained_agent_is_in_the_gallery():
    for path in (ROOT / "papers").glob("*/evidence/trained/*/config.json"):
        assert f"{path.parent.relative_to(ROOT)}.gif" in GALLERY


@pytest.fixture(scope="module")
def verdict_pages():
    return {house.package: claim_pages(house)[0] for house in (House(), ARENA)}


@pytest.mark.parametrize("package", ["papers", "arena"])
def test_pages_of_verdicts_are_current(package, verdict_pages):
    for path, text in verdict_pages[package].items():
        assert path.read_text() == text, f"{path} is out of date: run `make claims`"


def test_pages_of_verdicts_are_short(verdict_pages):
    """And what a room says of its claims rests on today's verdicts."""
    text = verdict_pages["papers"][ROOT / "RESULTS.md"]
    assert len(text.encode()) <= 8192
    assert "Holds here" not in text, "a verdict has changed: write the room's SUMMARY anew"
    for path in (path for pages in verdict_pages.values() for path in pages if path.name == "VERDICTS.md"):
        judged, _, _ = path.read_text().partition("\n## Not run\n")
        rows = [line for line in judged.splitlines() if line.startswith("|")]
        assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {6}, path
        assert max(map(len, rows)) <= 400, max(rows, key=len)


def test_headline_claims_are_few():
    for name, paper in PAPERS.items():
        named = {re.sub("-(bootstrapped|released)$", "", claim.id) for claim in paper.claims if claim.headline}
        assert 2 <= len(named) <= 4, name


def test_requirements_are_pinned():
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    named = [line for group in groups.values() for line in group if isinstance(line, str)]
    for path in project_files():
        if re.fullmatch(r"requirements.*\.txt", path.name):
            named += path.read_text().splitlines()
    assert [
        line for line in named if not re.fullmatch(r"#.*|[\w.-]+==[\w.]+(; python_version < '[\d.]+')?|", line)
    ] == []


def test_no_paths_of_one_machine():
    pattern = re.compile(rb"(?<![\w.:/-])/(?:home|root|Users|work|farm|mnt|scratch|opt)/|\.\./shared")
    text_files = [path for path in project_files() if path.suffix not in (".png", ".gif", ".npz")]
    wrong = [
        f"{path.relative_to(ROOT)}: {line.decode(errors='replace')}"
        for path in text_files
        for line in path.read_bytes().splitlines()
        if pattern.search(line)
    ]
    assert not wrong


def test_smoke_results_and_runs_are_not_tracked():
    names = [path.relative_to(ROOT).as_posix() for path in project_files()]
    assert not [name for name in names if name.startswith("runs/") or re.search(r"/(results|figures)/smoke/", name)]
