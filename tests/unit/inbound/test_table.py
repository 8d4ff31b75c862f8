"""Which connections are closed in favour of others, and which are overdue."""

import pytest

from zkconsumer.inbound.table import (
    ConnectionLimits,
    ConnectionProgress,
    ConnectionTable,
    WaitingFor,
    address_key,
)

LIMITS = ConnectionLimits(
    connections=4,
    spare=2,
    per_address=3,
    head_ms=100,
    body_ms=200,
    next_ms=50,
    reading_ms=300,
    read_bytes=1_000,
    unread_bytes=10_000,
)
NOTHING = ConnectionProgress()


class TableWithClock:
    """A connection table with a manual clock."""

    def __init__(self) -> None:
        self.table = ConnectionTable(LIMITS)
        self.now_ms = 0
        self.evicted: list[int] = []

    def admit(self, address: str) -> int | None:
        """Connect, 1 ms after the previous connection; return None if it is refused."""
        self.now_ms += 1
        number, evicted = self.table.admit(address, self.now_ms)
        self.evicted += evicted
        return number

    def admitted(self, address: str) -> int:
        """Connect, and assert that the connection is admitted."""
        number = self.admit(address)
        assert number is not None
        return number

    def busy(self, address: str) -> int:
        """Connect, and begin a request that the server is working on."""
        number = self.admitted(address)
        self.table.begin(number, self.now_ms)
        self.table.wait(number, None, self.now_ms)
        return number

    def overdue(self, number: int, progress: ConnectionProgress = NOTHING) -> WaitingFor | None:
        """Return what the connection is overdue with at the present time, or None."""
        return self.table.overdue(number, progress, self.now_ms)


@pytest.fixture
def bench() -> TableWithClock:
    """An empty table."""
    return TableWithClock()


def test_an_address_at_its_limit_loses_its_own_oldest_connection(bench: TableWithClock) -> None:
    """Its fourth waiting connection closes its first; other addresses keep theirs."""
    other = bench.admitted("b")
    first = bench.admitted("a")
    for _ in range(3):
        bench.admitted("a")
    assert bench.evicted == [first]
    assert other in bench.table
    assert len(bench.table) == 4


def test_connections_with_a_request_in_progress_do_not_count_for_their_address(
    bench: TableWithClock,
) -> None:
    """All connections of a proxy may come from one address."""
    kept = [bench.busy("proxy") for _ in range(4)]
    assert bench.evicted == []
    assert all(number in bench.table for number in kept)


def test_a_connection_with_a_token_does_not_count_for_its_address(bench: TableWithClock) -> None:
    """And it is the last to be closed."""
    authenticated = bench.busy("a")
    bench.table.authenticate(authenticated)
    bench.table.wait(authenticated, WaitingFor.NEXT, bench.now_ms)
    strangers = [bench.admitted("a") for _ in range(3)]
    assert bench.evicted == []
    bench.admitted("b")
    assert bench.evicted == strangers[:1]


def test_the_address_with_the_most_waiting_connections_loses_one_first(
    bench: TableWithClock,
) -> None:
    """Of that address the connection that has waited longest is closed, not the oldest."""
    bench.admitted("b")
    first, second = bench.admitted("a"), bench.admitted("a")
    bench.admitted("c")
    bench.table.wait(first, None, bench.now_ms)
    bench.table.wait(first, WaitingFor.NEXT, bench.now_ms)
    bench.admitted("d")
    assert bench.evicted == [second]


def test_a_connection_with_a_request_in_progress_is_never_closed(bench: TableWithClock) -> None:
    """Spare connections are admitted, but their requests may begin only when another has closed."""
    busy = [bench.busy(address) for address in "abcd"]
    spare = bench.admitted("e")
    assert bench.evicted == []
    assert not bench.table.begin(spare, bench.now_ms)
    bench.table.close(busy[0])
    assert bench.table.begin(spare, bench.now_ms)
    bench.table.wait(spare, None, bench.now_ms)
    later = bench.admitted("f")
    assert not bench.table.begin(later, bench.now_ms)


def test_spare_connections_replace_each_other(bench: TableWithClock) -> None:
    """So a health check gets a connection, unless the server is working on every spare one."""
    for address in "abcd":
        bench.busy(address)
    first, second = bench.admitted("e"), bench.admitted("f")
    bench.admitted("g")
    assert bench.evicted == [first]
    bench.table.wait(second, None, bench.now_ms)
    bench.busy("h")
    assert bench.admit("i") is None
    assert len(bench.table) == 6


def test_the_time_limit_of_a_head_counts_from_connecting(bench: TableWithClock) -> None:
    """Reporting the wait again does not extend it: sending a byte at a time gains nothing."""
    number = bench.admitted("a")
    bench.now_ms += 60
    bench.table.wait(number, WaitingFor.HEAD, bench.now_ms)
    assert bench.overdue(number) is None
    bench.now_ms += 40
    assert bench.overdue(number) is WaitingFor.HEAD


def test_the_time_limit_of_a_body_counts_from_the_head(bench: TableWithClock) -> None:
    """It does not matter what the connection waits for in between."""
    number = bench.admitted("a")
    bench.table.begin(number, bench.now_ms)
    bench.table.wait(number, WaitingFor.BODY, bench.now_ms)
    bench.now_ms += 199
    bench.table.wait(number, None, bench.now_ms)
    assert bench.overdue(number, ConnectionProgress(body_open=True)) is None
    bench.now_ms += 1
    assert bench.overdue(number, ConnectionProgress(body_open=True)) is WaitingFor.BODY
    assert bench.overdue(number) is None


def test_a_connection_may_be_idle_between_requests_for_next_ms(bench: TableWithClock) -> None:
    """While the server works on a response, no time is counted."""
    number = bench.busy("a")
    bench.now_ms += 10_000
    assert bench.overdue(number) is None
    bench.table.wait(number, WaitingFor.NEXT, bench.now_ms)
    bench.now_ms += 50
    assert bench.overdue(number) is WaitingFor.NEXT


def test_a_response_must_be_read_steadily(bench: TableWithClock) -> None:
    """The client must read all pending data, or ``read_bytes``, in each ``reading_ms``."""
    number = bench.busy("a")
    for read in (0, 1_000, 2_000, 3_000):
        assert bench.overdue(number, ConnectionProgress(unread=5, read=read)) is None
        bench.now_ms += 299
    assert bench.overdue(number, ConnectionProgress(unread=0, read=3_005)) is None
    assert bench.overdue(number, ConnectionProgress(unread=9, read=3_005)) is None
    bench.now_ms += 300
    assert bench.overdue(number, ConnectionProgress(unread=9, read=4_004)) is WaitingFor.READING


def test_memory_for_unread_responses_is_bounded(bench: TableWithClock) -> None:
    """Connections without a token are closed first, those with the most unread data first."""
    known, small, large = (bench.busy(address) for address in "abc")
    bench.table.authenticate(known)
    assert bench.table.over_memory_limit({known: 6_000, small: 1_000, large: 3_000}) == ()
    assert bench.table.over_memory_limit({known: 9_000, small: 1_000, large: 3_000}) == (large,)
    assert bench.table.over_memory_limit({known: 11_000, small: 1, large: 2}) == (
        large,
        small,
        known,
    )


def test_events_of_a_closed_connection_are_ignored(bench: TableWithClock) -> None:
    """Further events of a closed connection are ignored."""
    number = bench.admitted("a")
    bench.table.close(number)
    bench.table.close(number)
    bench.table.wait(number, WaitingFor.NEXT, bench.now_ms)
    bench.table.authenticate(number)
    assert not bench.table.begin(number, bench.now_ms)
    assert bench.overdue(number) is None
    assert bench.table.longest_waiting() is None
    assert len(bench.table) == 0


@pytest.mark.parametrize(
    ("host", "key"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("2001:db8:1:2:ffff::1", "2001:db8:1:2::"),
        ("fe80::1%eth0", "fe80::"),
        ("::1", "::"),
        ("", ""),
        ("no address", "no address"),
    ],
)
def test_an_ipv6_network_counts_as_one_address(host: str, key: str) -> None:
    """A client usually has a whole /64 for itself; an IPv4-mapped address counts as IPv4."""
    assert address_key(host) == key
