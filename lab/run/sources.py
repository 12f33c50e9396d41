"""Which source files decide the numbers of a run, and what stands in them. Files are read here, never imported.

They are the train script and what it imports, file by file, also inside of functions: of its own room and of papers/
(but no evidence), of common/ and of envs/, with the environments that it names as "envs:Hand-v1"; and
lab/run/streams.py. The rest of the lab does not count, so that a better progress bar makes no run stale.
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
"""File, by the path of its module ("papers/ter/train.py") -> six hex digits that change with its code."""


def sources(module: str) -> Files:
    """Today's files of the train script `module`; none where there is no such module."""
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
    """In words, how the files differ; "" when they do not."""
    words = [
        f"{path} changed" if path in then and path in now else f"{path} is {'new' if path in now else 'gone'}"
        for path in sorted(then.keys() | now.keys())
        if then.get(path) != now.get(path)
    ]
    return ", ".join(words[:3]) + (f" and {len(words) - 3} more" if len(words) > 3 else "")


def newest(files: Files) -> float:
    """When the last of the files was written, in seconds since the epoch; 0 where there are none."""
    places = [_find(path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")) for path in files]
    return max((place[0].stat().st_mtime for place in places if place), default=0.0)


def _find(module: str) -> tuple[Path, str] | None:
    """The file of a module and its path below the folder that holds the topmost package."""
    stem = module.replace(".", "/")
    for folder in sys.path:
        for shown in (f"{stem}/__init__.py", f"{stem}.py"):
            path = Path(folder or ".", shown)
            if path.is_file():
                return path, shown
    return None


@functools.cache
def _read(path: Path, shown: str, mtime_ns: int, size: int) -> tuple[str, list[str], list[str]]:
    """Digest, imported names (modules or names in them) and names of environments of a file, until it is changed."""
    text = path.read_bytes()
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):  # importing it will tell
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
    """A docstring, of a field, too: a line that does nothing."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _spell(node: object) -> Iterator[str]:
    """A syntax tree as text. Empty fields are left out: versions of Python differ in these (ast.dump shows them)."""
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
    """Modules of envs/ that may hold an environment: those that envs/__init__.py names in the statement in which it
    names the environment, or in any where it does not."""
    place, everything = _find("envs"), {"envs"}
    name = re.sub(r"-v\d+$", "", identifier)
    for statement in ast.parse(place[0].read_bytes()).body if place else ():
        texts = [node.value for node in ast.walk(statement) if isinstance(node, ast.Constant)]
        modules = {match[0] for text in texts if (match := re.match(r"envs(\.\w+)+", str(text)))}
        if name in texts or identifier in texts:
            return {"envs", *modules}
        everything |= modules
    return everything
