"""Which test modules can have tests that ``-m`` selects: the others are not loaded, to save time.

The marks of a whole module are read from its text.
"""

import ast
import re
from collections.abc import Collection
from itertools import product
from typing import Final

WRITTEN: Final = frozenset({"alone", "spark", "airflow", "hdfs", "lakehouse"})
"""Marks that tests only get in their own module: without the word it has no such tests.

Other marks, such as ``sandbox``, may come with parameters that modules share.
"""

_OF_MODULE: Final = re.compile(r"^pytestmark = (?:\[$.*?^\]|.*?$)", re.MULTILINE | re.DOTALL)
_NAME: Final = re.compile(r"\bmark\.(?:usefixtures\(\"?)?(\w+)")


def can_be_wanted(module: str, expression: str) -> bool:
    """Tell whether an expression of marks may select a test of a module.

    Args:
        module: the module's text; fixtures that all its tests use count as marks.
        expression: the expression of ``-m``.

    Returns:
        False if it certainly selects none.
    """
    try:
        parsed = ast.parse(expression.strip(), mode="eval").body
    except SyntaxError:
        return True  # pytest will report what is wrong with it
    of_all = {name for marks in _OF_MODULE.findall(module) for name in _NAME.findall(marks)}
    return True in _values(parsed, of_all, WRITTEN - marks_in(module))


def marks_in(module: str) -> frozenset[str]:
    """Return the marks that a module's text names."""
    return frozenset(_NAME.findall(module))


def _values(expression: ast.expr, of_all: Collection[str], of_none: Collection[str]) -> set[bool]:
    """Return the possible values of an expression, given marks that all or no tests have."""
    match expression:
        case ast.Name(id=name) if name in of_all or name in of_none:
            return {name in of_all}
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return {not value for value in _values(operand, of_all, of_none)}
        case ast.BoolOp(op=operator, values=operands):
            judge = all if isinstance(operator, ast.And) else any
            each = (_values(operand, of_all, of_none) for operand in operands)
            return {judge(values) for values in product(*each)}
        case _:
            return {True, False}
