"""Finds the possible changes of a module, by mutmut's operators and two of ours."""

import itertools
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import libcst as cst
from libcst import matchers as m
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators, operator_string

Operator = Callable[[Any], Iterable[cst.CSTNode]]

_EMPTY = cst.Module([])


def _is_empty(text: str) -> bool:
    return text.lstrip("bru")[1:-1] == ""


_TEXTS = m.Call(func=m.Attribute(value=m.Name("log") | m.Attribute(attr=m.Name("_log"))))
_TYPES = m.Call(func=m.Name("cast") | m.Name("TypeVar") | m.Name("NewType") | m.Name("ParamSpec"))
_STRICT = m.Arg(keyword=m.Name("strict"))
_LEFT_ALONE = (
    m.Annotation()
    | m.Decorator()
    | m.Assert()
    | m.Import()
    | m.ImportFrom()
    | m.FormattedString()
    | m.ConcatenatedString()
    | _TEXTS
    | _TYPES
    | m.FunctionDef(name=m.Name("__repr__") | m.Name("__str__"))
    | m.FunctionDef(
        decorators=[
            m.ZeroOrMore(),
            m.Decorator(decorator=m.Name("overload")),
            m.ZeroOrMore(),
        ]
    )
    | m.If(test=m.Name("TYPE_CHECKING"))
    | m.Assign(targets=[m.AssignTarget(target=m.Name("__all__") | m.Name("__slots__"))])
    | m.Assign(value=_TYPES)
    | m.AnnAssign(annotation=m.Annotation(annotation=m.Name("TypeAlias")))
    | m.Assign(targets=[m.AssignTarget(target=m.Name("log"))])
    | _STRICT
)
"""Code that only people or type checkers read, or that only checks an invariant."""

_NOTHING = m.Name("False") | m.Name("None") | m.SimpleString(value=m.MatchIfTrue(_is_empty))
"""Values whose exchange seldom makes a different program."""

_TYPE_ALIAS = m.Assign(value=m.Subscript() | m.BinaryOperation(operator=m.BitOr()))


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one module.

    Attributes:
        path: the module's path, relative to the top of the checkout.
        number: its index among the module's mutants; the same for the same source.
        line: the line's number.
        before: the line.
        after: the changed line.
        source: the whole changed module.
    """

    path: str
    number: int
    line: int
    before: str
    after: str
    source: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.change}"

    @property
    def change(self) -> str:
        """The change as it is reported."""
        return f"{self.before}  ->  {self.after}"


def drop_statement(node: cst.SimpleStatementLine) -> Iterator[cst.CSTNode]:
    """Omit a call whose result is unused, or a raise statement."""
    if m.matches(node, m.SimpleStatementLine(body=[m.Expr(value=m.Call()) | m.Raise()])):
        yield node.with_changes(body=[cst.Pass()])


def negate_condition(node: cst.If | cst.While) -> Iterator[cst.CSTNode]:
    """Negate a condition without an operator; mutmut changes the others."""
    if m.matches(node.test, m.Name() | m.Attribute() | m.Call()):
        yield node.with_changes(test=cst.UnaryOperation(cst.Not(), node.test))


_OPERATORS: Sequence[tuple[type, Operator]] = [
    *(entry for entry in mutation_operators if entry[1] is not operator_string),
    (cst.SimpleStatementLine, drop_statement),
    (cst.If, negate_condition),
    (cst.While, negate_condition),
]


def _same_nothing(old: cst.CSTNode, new: cst.CSTNode) -> bool:
    sides = m.Assign(value=_NOTHING) | m.AnnAssign(value=_NOTHING)
    return m.matches(old, sides) and m.matches(new, sides)


def _same_but_strict(old: cst.CSTNode, new: cst.CSTNode) -> bool:
    """Whether only ``zip(strict=...)`` differs, which has no effect in a sound program."""
    if not (isinstance(old, cst.Call) and isinstance(new, cst.Call)):
        return False
    return len(_given(old)) < len(old.args) and _given(old) == _given(new)


def _given(call: cst.Call) -> list[str]:
    """Return the call's arguments except for ``strict``."""
    bare = (arg.with_changes(comma=cst.MaybeSentinel.DEFAULT) for arg in call.args)
    return [_EMPTY.code_for_node(arg) for arg in bare if not m.matches(arg, _STRICT)]


class _Finder(cst.CSTVisitor):
    """Collects nodes and their possible replacements."""

    def __init__(self) -> None:
        self.found: list[tuple[cst.CSTNode, cst.CSTNode]] = []
        self.names: list[str] = []
        self._within: list[str] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        alias = not self._within and m.matches(node, _TYPE_ALIAS)
        if isinstance(node, cst.FunctionDef | cst.ClassDef):
            self._within.append(node.name.value)
        if alias or m.matches(node, _LEFT_ALONE):
            return False
        for kind, changed in _OPERATORS:
            if isinstance(node, kind):
                self._take([(node, new) for new in changed(node)])
        return not isinstance(node, cst.Raise)

    def _take(self, found: list[tuple[cst.CSTNode, cst.CSTNode]]) -> None:
        pairs = [pair for pair in found if not (_same_nothing(*pair) or _same_but_strict(*pair))]
        self.found += pairs
        self.names += [".".join(self._within)] * len(pairs)

    def on_leave(self, original_node: cst.CSTNode) -> None:
        if isinstance(original_node, cst.FunctionDef | cst.ClassDef):
            self._within.pop()


class Module:
    """The mutants of one module.

    Args:
        top: the top of the checkout.
        path: the module's path relative to it.
    """

    def __init__(self, top: Path, path: str) -> None:
        self.path = path
        self.source = (top / path).read_text("utf-8")
        wrapper = MetadataWrapper(cst.parse_module(self.source), unsafe_skip_copy=True)
        self._tree = wrapper.module
        self._positions = wrapper.resolve(PositionProvider)
        finder = _Finder()
        self._tree.visit(finder)
        self._found = finder.found
        self._names = finder.names

    def __len__(self) -> int:
        return len(self._found)

    def keys(self) -> list[str]:
        """Return a name for each mutant that stays when lines move or other code changes."""
        seen: Counter[str] = Counter()
        keys = []
        for name, pair in zip(self._names, self._found, strict=True):
            before, after = _difference(*(_EMPTY.code_for_node(node) for node in pair))
            key = "\0".join((self.path, name, before, after))
            keys.append(f"{key}\0{seen[key]}")
            seen[key] += 1
        return keys

    def mutant(self, number: int) -> Mutant | None:
        """Return one mutant, or None if it changes nothing."""
        old, new = self._found[number]
        changed = self._tree.deep_replace(old, new)
        assert isinstance(changed, cst.Module)
        before, after = _difference(self.source, changed.code)
        if not before and not after:
            return None
        return Mutant(self.path, number, self.line(number), before, after, changed.code)

    def line(self, number: int) -> int:
        """Return the line at which a mutant begins."""
        return self._positions[self._found[number][0]].start.line


def _difference(old: str, new: str) -> tuple[str, str]:
    """Return the lines that differ; a change is in one place."""
    old_lines, new_lines = old.splitlines(), new.splitlines()
    first = _shared(old_lines, new_lines)
    old_lines, new_lines = old_lines[first:], new_lines[first:]
    last = _shared(old_lines[::-1], new_lines[::-1])
    sides = (lines[: len(lines) - last] for lines in (old_lines, new_lines))
    before, after = (" ".join(line.strip() for line in side) for side in sides)
    return before, after


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many lines are equal at the beginning."""
    same = itertools.starmap(operator.eq, zip(one, other, strict=False))
    return sum(1 for _ in itertools.takewhile(bool, same))
