"""Cut a Python file into sections: text, and the code that it is about.

Python's own parser and tokenizer do the cutting, as a line that looks like a comment may be part of a string.
"""

import ast
import io
import re
import tokenize
from dataclasses import dataclass, field
from inspect import cleandoc

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass
class Section:
    """Text for the left column and code for the right one, from line `line` of the file on."""

    line: int
    name: str = ""  # the function or class that begins here: "function", "Class", "Class.method"
    docs: list[str] = field(default_factory=list)  # paragraphs: runs of comment lines, docstrings
    code: list[str] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)  # all comments, those at the end of a line of code included
    docstring: str = ""

    @property
    def anchor(self) -> str:
        """Anchor in the page: the name, or the line, as in "L12"."""
        return self.name or f"L{self.line}"


class _Outline:
    """Lines at which sections begin, and the lines of docstrings."""

    def __init__(self, source: str):
        self.lines = source.split("\n")
        self.starts: dict[int, str] = {1: ""}  # first line of a section -> name of what begins there
        self.texts: dict[int, str] = {}  # first line of a section -> its docstring
        self.docstring_lines: set[int] = set()
        module = ast.parse(source)
        self._docstring(module.body[:1], 1)
        self._walk(module.body, "", in_function=False)

    def _walk(self, body: list[ast.stmt], prefix: str, in_function: bool) -> None:
        for previous, node in zip([None, *body], body):
            if isinstance(node, Definition):
                start = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                if self._docstring(node.body[:1], start) or not in_function:
                    self.starts[start] = prefix + node.name
                inside = in_function or not isinstance(node, ast.ClassDef)
                self._walk(node.body, f"{prefix}{node.name}.", inside)
            elif isinstance(previous, ast.Assign | ast.AnnAssign) and self._docstring([node], previous.lineno):
                self.starts[previous.lineno] = ""  # a setting with its help text below
            elif isinstance(previous, Definition) and not in_function:
                self.starts.setdefault(node.lineno, "")

    def _docstring(self, body: list[ast.stmt], start: int) -> bool:
        """Take `body` as the docstring of the section at line `start`; False unless it is one, on lines of its own."""
        match body:
            case [ast.Expr(value=ast.Constant(value=str(text))) as node]:
                if self.lines[node.lineno - 1].lstrip().startswith(('"', "'", "r")):
                    self.texts[start] = cleandoc(text)
                    self.docstring_lines |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
                    return True
        return False


def split(source: str) -> list[Section]:
    """Sections of a file in order; each non-blank line of `source` is in exactly one of them.

    A section begins at a comment on a line of its own, at a class or function, and at a field with a docstring. A
    nested function begins one only if it has a docstring. Raises SyntaxError.
    """
    outline = _Outline(source)
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = {token.start[0]: token.string for token in tokens if token.type == tokenize.COMMENT}
    section, comment_before = Section(1), 0
    sections = [section]
    for number, line in enumerate(outline.lines, 1):
        alone = line.lstrip().startswith("#") and number in comments
        if section.code and (alone or number in outline.starts):
            section = Section(number)
            sections.append(section)
        if number in comments:
            section.comments.append(comments[number].lstrip("#").strip())
        if alone:
            text = re.sub(r"^#+ ?", "", comments[number])
            if comment_before == number - 1 and section.docs:
                section.docs[-1] += "\n" + text
            else:
                section.docs.append(text)
            comment_before = number
        if number in outline.texts:
            section.docstring = outline.texts[number]
            section.docs.append(section.docstring)
        section.name = section.name or outline.starts.get(number, "")
        if not alone and number not in outline.docstring_lines and (line.strip() or section.code):
            section.code.append(line)
    return sections
