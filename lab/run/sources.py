"""The source files that decide a run's numbers, and digests of their code. Files are read here, never imported.

They are the train script and every file that it imports, also inside functions: from its own room, papers/ (without
evidence), common/ and envs/, including environments that it names as "envs:Hand-v1"; and lab/run/streams.py. The rest
of the lab does not count, so a better progress bar makes no run stale.
"""

import ast
import functools
import hashlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

SHARED = ("common", "envs", "papers")
STREAMS = "lab.run.streams"

Files = dict[str, str]
"""Path of a file ("papers/ter/train.py") -> six hex digits that change with its code."""


def sources(module: str) -> Files:
    """Today's files of the train script `module`; empty if there is no such module."""
    top, found, seen, todo = module.partition(".")[0], {}, set(), [module]
    if _find(module):
        todo.append(STREAMS)
    while todo:
        name = todo.pop()
        first, *rest = name.split(".")
        if name in seen or not (name == STREAMS or (first in (top, *SHARED) and "evidence" not in rest)):
            continue
        seen.add(name)
        if rest:
            todo.append(name.rpartition(".")[0])  # importing a module runs the packages above it
        if place := _find(name):
            path, shown = place
            stat = path.stat()
            found[shown], imports, ids = _read(path, shown, stat.st_mtime_ns, stat.st_size)
            todo += imports
            todo += [module for identifier in ids for module in _registered(identifier)]
    return dict(sorted(found.items()))


def digest(files: Files) -> str:
    """Sixteen hex digits for all files together."""
    return hashlib.blake2b(repr(sorted(files.items())).encode(), digest_size=8).hexdigest()


def changes(then: Files, now: Files) -> str:
    """Describe how the files differ; "" if they do not."""
    words = [
        f"{path} changed" if path in then and path in now else f"{path} is {'new' if path in now else 'gone'}"
        for path in sorted(then.keys() | now.keys())
        if then.get(path) != now.get(path)
    ]
    return ", ".join(words[:3]) + (f" and {len(words) - 3} more" if len(words) > 3 else "")


def newest(files: Files) -> float:
    """When the newest file was written, in seconds since the epoch; 0 without files."""
    places = [_find(path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")) for path in files]
    return max((place[0].stat().st_mtime for place in places if place), default=0.0)


def _find(module: str) -> tuple[Path, str] | None:
    """File of a module, and its path relative to the folder that holds the topmost package."""
    stem = module.replace(".", "/")
    for folder in sys.path:
        for shown in (f"{stem}/__init__.py", f"{stem}.py"):
            path = Path(folder or ".", shown)
            if path.is_file():
                return path, shown
    return None


@functools.cache
def _read(path: Path, shown: str, mtime_ns: int, size: int) -> tuple[str, list[str], list[str]]:
    """Digest, imported names (modules or names in them) and environment ids of a file; cached until it changes."""
    text = path.read_bytes()
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):  # importing it will report this
        return hashlib.blake2b(text, digest_size=3).hexdigest(), [], []
    for node in ast.walk(tree):
        for _, body in ast.iter_fields(node):
            if isinstance(body, list):
                body[:] = [line for line in body if not _is_text(line)]
    code = "".join(_spell(tree))
    texts = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    ids = [text.removeprefix("envs:") for text in texts if text.startswith("envs:")]  # gymnasium.make imports these
    return hashlib.blake2b(code.encode(), digest_size=3).hexdigest(), list(_imports(tree, shown)), ids


def _is_text(node: object) -> bool:
    """Whether a statement is a docstring, a field's included."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _spell(node: object) -> Iterator[str]:
    """Spell a syntax tree as text, without the empty fields that ast.dump shows: Python versions differ in these."""
    if isinstance(node, ast.AST):
        yield f"{type(node).__name__}("
        for name, value in ast.iter_fields(node):
            if value is not None and value != []:
                yield f"{name}="
                yield from _spell(value)
        yield ")"
    elif isinstance(node, list):
        yield "["
        for value in node:
            yield from _spell(value)
            yield ","
        yield "]"
    else:
        yield repr(node)


def _imports(tree: ast.AST, shown: str) -> Iterator[str]:
    package = Path(shown).parent.parts
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parent = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*parent, *([node.module] if node.module else [])])
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def _registered(identifier: str) -> set[str]:
    """Modules of envs/ that may hold an environment: those named in the statement of envs/__init__.py that names the
    environment; if there is no such statement, all that it names."""
    place, everything = _find("envs"), {"envs"}
    name = re.sub(r"-v\d+$", "", identifier)
    for statement in ast.parse(place[0].read_bytes()).body if place else ():
        texts = [node.value for node in ast.walk(statement) if isinstance(node, ast.Constant)]
        modules = {match[0] for text in texts if (match := re.match(r"envs(\.\w+)+", str(text)))}
        if name in texts or identifier in texts:
            return {"envs", *modules}
        everything |= modules
    return everything
