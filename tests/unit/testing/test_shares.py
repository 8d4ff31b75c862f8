"""How many of a property's examples one run tries."""

import pytest

from tests.support import shares


def test_a_share_is_a_third_and_never_only_the_simplest_example(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A third of the examples is tried, but at least three: the first is trivial, such as empty."""
    monkeypatch.setattr(shares, "WHOLE", False)
    assert [shares.examples(count) for count in (1, 3, 10, 150)] == [1, 3, 3, 50]
    monkeypatch.setattr(shares, "WHOLE", True)
    assert [shares.examples(count) for count in (1, 3, 10, 150)] == [1, 3, 10, 150]
