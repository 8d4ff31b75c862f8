"""The largest lag of each group in equal intervals of time."""

from pathlib import Path

from tests.support.asgi_client import ManualStates
from tests.threads.web.history.test_history import KEY, record, recorder_of, seen
from zkconsumer.status.model import GroupKey, GroupKind
from zkconsumer.web.history.past import RecordedPast


def test_trends_have_the_largest_lag_of_each_interval(tmp_path: Path) -> None:
    """Samples outside the range are left out, and so are groups without samples."""
    samples = {900: 99, 1_000: 3, 1_400: 8, 1_999: 5, 3_000: 1, 4_000: 77}
    states = ManualStates(seen(1, 0))
    nobody = GroupKey(GroupKind.COORDINATOR, KEY.group_id)
    with recorder_of(tmp_path / "past") as recorder:
        past = RecordedPast(recorder)
        assert past.trends([KEY], 1_000, 4_000, 3) == {}
        for at_ms, lag in samples.items():
            record(recorder, states, seen(at_ms, lag))
        assert past.trends([KEY, nobody], 1_000, 4_000, 3) == {KEY: (8, None, 1)}
        assert past.trends([KEY], 5_000, 9_000, 4) == {}


def test_a_damaged_file_has_no_trends(tmp_path: Path) -> None:
    """That is no error: the list of groups is shown without them."""
    path = tmp_path / "past"
    with recorder_of(path) as recorder:
        past = RecordedPast(recorder)
    path.write_bytes(b"no database" * 1_000)
    assert past.trends([KEY], 0, 10, 2) == {}
