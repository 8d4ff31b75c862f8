"""docs/guarantees.md names tests that exist, and that CI runs."""

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAMED = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")
BY_HAND = {f"pytest.mark.{name}" for name in ("matrix", "versions", "airflow", "hdfs", "lakehouse")}


def test_every_promise_names_a_test_that_exists() -> None:
    """Each row of a table has at least one, and each is there."""
    text = (ROOT / "docs" / "guarantees.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("| ") and "proof |" not in line]
    assert len(rows) > 20
    assert [row for row in rows if not NAMED.search(row)] == []
    missing = [
        f"{path}::{name}"
        for path, name in NAMED.findall(text)
        if not (ROOT / path).exists() or (name and f"def {name}(" not in (ROOT / path).read_text())
    ]
    assert missing == []


def test_ci_runs_what_proves_a_promise() -> None:
    """No named test is left to a lane by hand as a whole; of a named file, not all tests are."""
    text = (ROOT / "docs" / "guarantees.md").read_text()
    left_out = []
    for path, name in NAMED.findall(text):
        by_hand = _by_hand(path)
        if by_hand.get(name, False) if name else by_hand and all(by_hand.values()):
            left_out.append(f"{path}::{name}")
    assert left_out == []


@cache
def _by_hand(path: str) -> dict[str, bool]:
    """Return the test functions of a file, and whether each has a mark of a lane by hand."""
    tree = ast.parse((ROOT / path).read_text())
    ours = [
        ast.unparse(mark)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
        for mark in (node.value.elts if isinstance(node.value, ast.List) else [node.value])
    ]
    return {
        node.name: not BY_HAND.isdisjoint((*ours, *map(ast.unparse, node.decorator_list)))
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }
