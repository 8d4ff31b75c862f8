"""What property tests need before the first of them runs."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


@pytest.fixture(scope="session", autouse=True)
def table_of_characters() -> None:
    """Let Hypothesis build it: at its first use that test could seem too slow on a busy machine."""
    slow = [HealthCheck.too_slow]

    @settings(max_examples=1, deadline=None, database=None, suppress_health_check=slow)
    @given(st.text(max_size=8))
    def use(text: str) -> None:
        assert len(text) <= 8

    use()
