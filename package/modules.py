"""Make the installable package: this repository's modules under the one name `replaybook`.

In the repository, modules import each other by short names (`from common.replay.protocol import Step`). Installed,
`common` or `envs` would clash with a user's own folders of that name. So the wheel holds copies with `replaybook.` in
front of every short name: in imports, and in strings that name modules or environments ("envs:Hand-v1"). Nothing else
in the files changes, so line numbers stay.

What goes in: all of common/ and envs/, papers/ without evidence, adapters/, and what these import from lab/. Scripts
stay out: their runs belong to a checkout, whose commit they record.
"""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

NAME = "replaybook"
ROOTS = ("common", "envs", "papers", "adapters", "lab")
WHOLE = ROOTS[:-1]
"""Those that go in even if nothing imports them."""
ANY = "|".join(ROOTS)
MODULE = re.compile(rf"({ANY})((\.\w+)+(:\w+)?|:[\w-]+)")
"""A string that names a module, an object in one, or an environment."""
BEGINNING = re.compile(rf"({ANY})(\.\w+)*[.:][\w-]*")
"""Its beginning, if more follows in an f-string."""
QUOTE = r"\w*(\"\"\"|'''|\"|')"


def rewrite(source: bytes, file: str) -> bytes:
    """Return a module's code with long names. ValueError if it cannot be rewritten; file: for its message."""
    lines, places = source.splitlines(keepends=True), set()
    tree = ast.parse(source)
    parts = {id(value) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for value in node.values}
    idle = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings

    def mark(node: Any, before: str, text: str) -> None:
        """Mark `text` for the longer name; it stands at `node`, behind what matches `before`."""
        line = lines[node.lineno - 1]  # a position counts bytes
        begin = re.compile(before.encode()).match(line, node.col_offset)
        if begin is None or not line.startswith(text.encode(), begin.end()):
            raise ValueError(f"{file}, line {node.lineno}: {text} is not written where its statement begins")
        places.add((node.lineno - 1, begin.end()))

    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and not node.level and _root(node.module):
            mark(node, r"from\s+", node.module or "")
        elif isinstance(node, ast.Import):
            for alias in filter(lambda alias: _root(alias.name), node.names):
                if alias.asname is None:
                    raise ValueError(f"{file}, line {node.lineno}: write `import {alias.name} as ...`, or `from`")
                mark(alias, "", alias.name)
        elif isinstance(node, ast.JoinedStr):
            first = getattr(node.values[0], "value", None) if node.values else None
            if isinstance(first, str) and BEGINNING.fullmatch(first):
                mark(node, QUOTE, first)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and not {id(node)} & (parts | idle):
            if MODULE.fullmatch(node.value):
                mark(node, QUOTE, node.value)
    for number, place in sorted(places, reverse=True):
        lines[number] = lines[number][:place] + f"{NAME}.".encode() + lines[number][place:]
    return b"".join(lines)


def _root(module: str | None) -> bool:
    return module is not None and module.partition(".")[0] in ROOTS


def is_script(tree: ast.Module) -> bool:
    """Whether it ends in `if __name__ == "__main__":`."""
    return isinstance(tree.body[-1], ast.If) and "__main__" in ast.unparse(tree.body[-1].test) if tree.body else False


def imported(tree: ast.Module) -> Iterator[str]:
    """Yield what a module imports when it is loaded: names of modules, or of objects in them."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def code(root: Path) -> dict[str, ast.Module]:
    """Return the modules of the repository `root` that may go in: path below it -> syntax tree."""
    files = [path for place in ROOTS for path in (root / place).rglob("*.py") if "evidence" not in path.parts]
    return {path.relative_to(root).as_posix(): ast.parse(path.read_bytes()) for path in sorted(files)}


def reached(trees: dict[str, ast.Module], begin: Iterable[str]) -> set[str]:
    """Return those of `trees` that are loaded with the modules `begin`, these included."""
    found: set[str] = set()
    todo = list(begin)
    while todo:
        if (path := todo.pop()) in found:
            continue
        found.add(path)
        parts = path.removesuffix(".py").split("/")
        for name in (".".join(parts), *imported(trees[path])):
            words = name.split(".")
            stems = ["/".join(words[:length]) for length in range(1, len(words) + 1)]  # the packages above it, too
            todo += [file for stem in stems for file in (f"{stem}.py", f"{stem}/__init__.py") if file in trees]
    return found


def contents(root: Path) -> list[str]:
    """Return the paths of the modules that go in, below the repository `root`, sorted."""
    trees = code(root)
    whole = [path for path, tree in trees.items() if path.partition("/")[0] in WHOLE and not is_script(tree)]
    return sorted(reached(trees, whole))


def table(root: Path, name: str) -> dict[str, str]:
    """Return the dictionary `name` of package/init.py, which can only be imported once it is installed."""
    for node in ast.parse((root / "package/init.py").read_bytes()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return ast.literal_eval(node.value)
    raise KeyError(name)


def types(root: Path) -> str:
    """Return what type checkers and editors read instead of the top of the package, which loads its names late."""
    lines = [f"from {NAME}.{module} import {name} as {name}" for name, module in table(root, "NAMES").items()]
    lines += [f"{name} = {full}" for name, full in table(root, "SHORT").items()]
    return "\n".join([*lines, "__version__: str", ""])


def write(root: Path, to: Path) -> None:
    """Write the complete package as the folder `to`."""
    to.mkdir(parents=True)
    shutil.copyfile(root / "package/init.py", to / "__init__.py")
    (to / "__init__.pyi").write_text(types(root))
    (to / "py.typed").touch()
    for path in contents(root):
        (to / path).parent.mkdir(parents=True, exist_ok=True)
        (to / path).write_bytes(rewrite((root / path).read_bytes(), path))
