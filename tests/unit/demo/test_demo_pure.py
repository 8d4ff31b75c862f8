"""The demo's tally and its picture of the group."""

from zkconsumer.demo.lines import line_number, log_line
from zkconsumer.demo.picture import PartitionView, picture
from zkconsumer.demo.story import audit_lines
from zkconsumer.demo.tally import Tally
from zkconsumer.model import TopicPartition


def test_a_line_carries_its_number() -> None:
    """The number of a log line can be read back; other lines have none."""
    assert [line_number(log_line(n, "now")) for n in range(200)] == list(range(200))
    assert line_number("GET /cart/17") is None


def test_the_outcome_counts_losses_and_repetitions() -> None:
    """A line that reached nobody is lost; each delivery beyond the first is a repetition."""
    tally = Tally()
    tally.add("a", [0, 1, 2])
    tally.add("b", [2, 2, 4])
    outcome = tally.outcome({0, 1, 2, 3, 4})
    assert (outcome.delivered, outcome.lost, outcome.lost_count, outcome.repeated) == (
        4,
        (3,),
        1,
        2,
    )
    assert tally.by_member == {"a": 3, "b": 3}
    assert tally.misses(range(5)) == 1
    assert "the first that were lost: 3" in audit_lines(outcome)


def test_the_picture_names_owners_and_lag() -> None:
    """Known members appear by name, unknown values as a dash, and the lag is never negative."""
    lines = [
        PartitionView(TopicPartition("t", 0), "g_host-1-abc-0", 5, 9),
        PartitionView(TopicPartition("t", 1), None, None, 9),
        PartitionView(TopicPartition("t", 2), "g_host-1-abc-0", 9, 5),
    ]
    text = picture("act", lines, {"g_host-1-abc": "python-1"}, {"python-1": 7})
    assert [row.split() for row in text.splitlines()[2:5]] == [
        ["t-0", "python-1", "5", "9", "4"],
        ["t-1", "-", "-", "9", "-"],
        ["t-2", "python-1", "9", "5", "0"],
    ]
    assert text.endswith("delivered: python-1 7")
