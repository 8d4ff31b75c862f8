"""Numbers and times as the pages print them."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.status.burrow import BurrowStatus
from zkconsumer.status.doctor.diagnosis import Severity
from zkconsumer.status.lag import TimeLag
from zkconsumer.status.model import GroupState
from zkconsumer.web.pages import formatting

TEMPLATES = Path(formatting.__file__).parents[1] / "templates"
LONG_MS = 400 * 86_400_000


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (None, formatting.NOT_KNOWN),
        (0, "0"),
        (999, "999"),
        (1_000, "1.0k"),
        (99_949, "99.9k"),
        (99_950, "100k"),
        (999_499, "999k"),
        (999_500, "1.0M"),
        (2**63 - 1, "9223P"),
    ],
)
def test_short_numbers(number: int | None, message: str) -> None:
    """Numbers have at most three digits."""
    assert formatting.short(number) == message


@pytest.mark.parametrize(
    ("ms", "message"),
    [
        (None, formatting.NOT_KNOWN),
        (-3, "0 ms"),
        (999, "999 ms"),
        (1_000, "1.0 s"),
        (59_999, "59 s"),
        (60_000, "1 min"),
        (185_000, "3 min 5 s"),
        (3_599_999, "59 min 59 s"),
        (7_800_000, "2 h 10 min"),
        (86_400_000, "1 d"),
        (273_600_000, "3 d 4 h"),
    ],
)
def test_durations(ms: int | None, message: str) -> None:
    """Durations have at most two units."""
    assert formatting.duration(ms) == message


@given(st.integers(-1_000, LONG_MS), st.integers(0, LONG_MS))
def test_ages_are_one_number_of_one_unit(ms: int, at_ms: int) -> None:
    """Ages have one unit and are rounded down, so that nothing is younger than shown."""
    message = formatting.age(at_ms, at_ms + ms)
    if ms < 1_000:
        assert message == "now"
        return
    number, unit = message.split()
    size = {"s": 1_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}[unit]
    assert int(number) * size <= ms < (int(number) + 1) * size


def test_the_script_counts_ages_in_the_same_words() -> None:
    """The script that updates ages uses the same units and words as the server."""
    script = (TEMPLATES.parent / "static" / "ages.js").read_text()
    reported = re.findall(r"\[([\d_]+), \"(\w+)\"\]", script)
    assert [(int(ms.replace("_", "")), unit) for ms, unit in reported] == [
        (86_400_000, "d"),
        (3_600_000, "h"),
        (60_000, "min"),
    ]
    assert formatting.age(None, 5) == "never"
    assert (formatting.ago(5, 6), formatting.ago(5, 4_005)) == ("now", "4 s ago")


@given(st.integers(0, 4_000_000_000_000))
def test_instants(at_ms: int) -> None:
    """Times are in UTC, and in milliseconds for programs."""
    assert formatting.iso(at_ms).startswith(formatting.moment(at_ms)[:10])
    assert formatting.moment(at_ms)[11:] == formatting.clock(at_ms)
    assert int(formatting.iso(at_ms)[-4:-1]) == at_ms % 1_000


def test_time_lags_and_counts() -> None:
    """Estimated time lags are marked, and unknown ones are a dash."""
    assert formatting.time_lag(None) == formatting.NOT_KNOWN
    assert formatting.time_lag(TimeLag(0)) == "0 s"
    assert formatting.time_lag(TimeLag(61_000, estimated=True)) == "~1 min 1 s"
    assert formatting.count(None) == formatting.NOT_KNOWN
    assert formatting.count(1_234_567) == "1,234,567"
    assert (formatting.counted(1, "group"), formatting.counted(2_000, "group")) == (
        "1 group",
        "2,000 groups",
    )
    assert formatting.segment("a/b c") == "a%2Fb%20c"


def test_every_state_has_a_tone_and_every_tone_an_icon() -> None:
    """Each state has a tone, and each tone an icon: no state is shown by colour alone."""
    assert set(formatting.STATE_MEANINGS) == set(GroupState)
    assert set(formatting.BURROW_TONES) == set(BurrowStatus)
    assert set(formatting.SEVERITY_TONES) == set(Severity)
    icons = (TEMPLATES / "icons.html").read_text()
    styles = (TEMPLATES.parent / "static" / "parts.css").read_text()
    for tone in formatting.Tone:
        assert f'id="i-{tone}"' in icons
        assert f".badge.{tone} " in styles
