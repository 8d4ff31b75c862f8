"""What properties need before the first of them runs."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


@pytest.fixture(scope="session", autouse=True)
def table_of_characters() -> None:
    """Hypothesis makes it at its first use: on a busy machine that test would seem too slow."""
    slow = [HealthCheck.too_slow]

    @settings(max_examples=1, deadline=None, database=None, suppress_health_check=slow)
    @given(st.text(max_size=8))
    def use(text: str) -> None:
        assert len(text) <= 8

    use()
