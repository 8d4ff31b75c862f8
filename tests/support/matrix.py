"""Tests of a matrix, such as broker versions by methods of reading; CI runs some cells only.

A cell that CI leaves out differs from one that it runs in nothing that the code under test can
notice. ``make test-versions`` runs all cells.
"""

from collections.abc import Collection, Iterable

import pytest


def in_matrix(
    names: str | tuple[str, ...],
    cells: Iterable[object],
    in_ci: Collection[object],
    *,
    indirect: bool = False,
) -> pytest.MarkDecorator:
    """Parametrize a test by ``cells``; those that are not ``in_ci`` are marked ``matrix``.

    Args:
        names: the names of the arguments.
        cells: the values of the arguments; tuples if there are several names.
        in_ci: the cells that CI runs, too.
        indirect: whether the values go to a fixture.
    """
    marked = [
        pytest.param(
            *(cell if isinstance(cell, tuple) else (cell,)),
            marks=() if cell in in_ci else pytest.mark.matrix,
        )
        for cell in cells
    ]
    return pytest.mark.parametrize(names, marked, indirect=indirect)
