"""Tests of a matrix, such as broker versions by ways of reading, of which CI runs some cells.

The cells left out there differ from one that runs in nothing that the code under test knows:
``make test-versions`` runs them all.
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
        names: of the arguments.
        cells: their values; a tuple for several names.
        in_ci: the cells that CI runs, too.
        indirect: whether a fixture gets them.
    """
    marked = [
        pytest.param(
            *(cell if isinstance(cell, tuple) else (cell,)),
            marks=() if cell in in_ci else pytest.mark.matrix,
        )
        for cell in cells
    ]
    return pytest.mark.parametrize(names, marked, indirect=indirect)
