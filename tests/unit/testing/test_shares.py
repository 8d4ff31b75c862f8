"""How much of a property one run tries."""

import pytest

from tests.support import shares


def test_a_share_is_a_third_and_never_the_simplest_example_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first that Hypothesis draws is the simplest there is, such as an empty message."""
    monkeypatch.setattr(shares, "WHOLE", False)
    assert [shares.examples(count) for count in (1, 3, 10, 150)] == [1, 3, 3, 50]
    monkeypatch.setattr(shares, "WHOLE", True)
    assert [shares.examples(count) for count in (1, 3, 10, 150)] == [1, 3, 10, 150]
