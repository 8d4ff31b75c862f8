"""The changes that are made, and those that are omitted."""

from pathlib import Path

import pytest

from tests.mutants.sites import Module

SOURCE = '''"""Docs of 1 + 1."""
import logging
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from x import y

log = logging.getLogger(__name__)
Alias = dict[str, int]
Other: TypeAlias = dict[str, int] | None
T = TypeVar("T")


class Thing:
    __slots__ = ("a",)

    def __repr__(self) -> str:
        return "<" + "thing" + ">"

    def told(self, a: int) -> int:
        log.warning("it is %d", a + 1)
        assert a != 3
        note = f"{a + 1}"
        cast("int", a)

    @overload
    def read(self, count: int = 1) -> int: ...
    @overload
    @deprecated("use the other one")
    def read(self, count: str = "1" + "2") -> str: ...
'''


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """Return an empty checkout."""
    return tmp_path


def changes(top: Path, body: str) -> set[tuple[str, str]]:
    """Return the changed lines of a function, each with the original."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    (top / "m.py").write_text(f"def f(a, b):\n{lines}")
    module = Module(top, "m.py")
    made = [module.mutant(number) for number in range(len(module))]
    return {(mutant.before, mutant.after) for mutant in made if mutant is not None}


@pytest.mark.parametrize(
    ("body", "before", "after"),
    [
        ("return a < b", "return a < b", "return a <= b"),
        ("return a + 1", "return a + 1", "return a - 1"),
        ("return a + 1", "return a + 1", "return a + 2"),
        ("return a and b", "return a and b", "return a or b"),
        ("return not a", "return not a", "return a"),
        ("a = b", "a = b", "a = None"),
        ("a.wake()", "a.wake()", "pass"),
        ("raise KeyError(a)", "raise KeyError(a)", "pass"),
        ("if a:\n    return b", "if a:", "if not a:"),
        ("while a.more():\n    b()", "while a.more():", "while not a.more():"),
        ("return a(b, 1)", "return a(b, 1)", "return a(b, None)"),
        ("for c in a:\n    continue", "continue", "break"),
    ],
)
def test_a_change_that_is_made(top: Path, body: str, before: str, after: str) -> None:
    """Both mutmut's operators and ours make changes."""
    assert (before, after) in changes(top, body)


def test_strict_arguments_of_zip_are_not_changed(top: Path) -> None:
    """``strict`` is not changed, because lengths are equal; other arguments of ``zip`` are."""
    assert changes(top, "return zip(a, b, strict=True)") == {
        ("return zip(a, b, strict=True)", after)
        for after in (
            "return zip(None, b, strict=True)",
            "return zip(a, None, strict=True)",
            "return zip(b, strict=True)",
            "return zip(a, strict=True)",
        )
    }


def test_a_mutant_keeps_its_key_when_other_lines_change(top: Path) -> None:
    """A seed then draws the same mutants; two changes that look equal have different keys."""
    (top / "m.py").write_text("def f(a):\n    a(1)\n    a(1)\n")
    before = Module(top, "m.py").keys()
    (top / "m.py").write_text("K = 2\n\n\ndef f(a):\n    a(1)\n    a(1)\n    return a < 3\n")
    after = Module(top, "m.py").keys()
    assert len(set(after)) == len(after) > len(before) == len(set(before))
    assert set(before) < set(after)


@pytest.mark.parametrize(
    "body", ["a = False", "a = ''", "return 'text'", "a: int", "return f'{1}'"]
)
def test_empty_values_and_texts_are_not_changed(top: Path, body: str) -> None:
    """Empty values are not replaced by other empty values, and texts are not changed."""
    assert all(after == "a = True" for _, after in changes(top, body))


def test_code_for_people_and_type_checkers_is_not_changed(top: Path) -> None:
    """Only statements that run are changed."""
    (top / "m.py").write_text(SOURCE)
    module = Module(top, "m.py")
    made = [module.mutant(number) for number in range(len(module))]
    assert {mutant.before for mutant in made if mutant is not None} == {
        'note = f"{a + 1}"',
        'log.warning("it is %d", a + 1)',
        'cast("int", a)',
    }
    assert {mutant.after for mutant in made if mutant is not None and "log.w" in mutant.before} == {
        "pass"
    }


def test_a_mutant_reports_its_place_and_both_lines(top: Path) -> None:
    """The text is enough to find the place and to make the mutant by hand."""
    (top / "m.py").write_text("def f(a):\n    # why\n    return a < 1\n")
    module = Module(top, "m.py")
    texts = {str(module.mutant(number)) for number in range(len(module))}
    assert "m.py:3: return a < 1  ->  return a <= 1" in texts
