"""Which connections give way, and which are overdue."""

import pytest

from zkconsumer.inbound.table import (
    ConnectionLimits,
    ConnectionProgress,
    ConnectionTable,
    Waits,
    address_key,
)

LIMITS = ConnectionLimits(
    connections=4,
    spare=2,
    per_address=3,
    head_ms=100,
    body_ms=200,
    next_ms=50,
    taking_ms=300,
    taken_bytes=1_000,
    untaken_bytes=10_000,
)
NOTHING = ConnectionProgress()


class TableWithClock:
    """A table, and a clock by hand."""

    def __init__(self) -> None:
        self.table = ConnectionTable(LIMITS)
        self.now_ms = 0
        self.evicted: list[int] = []

    def admit(self, address: str) -> int | None:
        """Connect, a little later than the one before."""
        self.now_ms += 1
        number, evicted = self.table.admit(address, self.now_ms)
        self.evicted += evicted
        return number

    def let_in(self, address: str) -> int:
        """Connect where there is room."""
        number = self.admit(address)
        assert number is not None
        return number

    def busy(self, address: str) -> int:
        """Connect, and have a request answered."""
        number = self.let_in(address)
        self.table.begin(number, self.now_ms)
        self.table.wait(number, None, self.now_ms)
        return number

    def overdue(self, number: int, progress: ConnectionProgress = NOTHING) -> Waits | None:
        """Look at it now."""
        return self.table.overdue(number, progress, self.now_ms)


@pytest.fixture
def bench() -> TableWithClock:
    """Empty."""
    return TableWithClock()


def test_an_address_loses_its_own_first(bench: TableWithClock) -> None:
    """Its fourth silent connection closes its first; others keep theirs."""
    other = bench.let_in("b")
    first = bench.let_in("a")
    for _ in range(3):
        bench.let_in("a")
    assert bench.evicted == [first]
    assert other in bench.table
    assert len(bench.table) == 4


def test_connections_that_are_answered_do_not_count_for_their_address(
    bench: TableWithClock,
) -> None:
    """All that a proxy has may come from one address."""
    kept = [bench.busy("proxy") for _ in range(4)]
    assert bench.evicted == []
    assert all(number in bench.table for number in kept)


def test_who_has_shown_a_token_does_not_count_for_its_address(bench: TableWithClock) -> None:
    """And is the last to give way."""
    known = bench.busy("a")
    bench.table.prove(known)
    bench.table.wait(known, Waits.NEXT, bench.now_ms)
    strangers = [bench.let_in("a") for _ in range(3)]
    assert bench.evicted == []
    bench.let_in("b")
    assert bench.evicted == strangers[:1]


def test_the_address_that_waits_most_gives_way_first(bench: TableWithClock) -> None:
    """And of it the one that has waited longest, not the one that came first."""
    bench.let_in("b")
    first, second = bench.let_in("a"), bench.let_in("a")
    bench.let_in("c")
    bench.table.wait(first, None, bench.now_ms)
    bench.table.wait(first, Waits.NEXT, bench.now_ms)
    bench.let_in("d")
    assert bench.evicted == [second]


def test_what_is_answered_never_gives_way(bench: TableWithClock) -> None:
    """Then there are spare connections; their requests have no room, until there is some."""
    busy = [bench.busy(address) for address in "abcd"]
    spare = bench.let_in("e")
    assert bench.evicted == []
    assert not bench.table.begin(spare, bench.now_ms)
    bench.table.close(busy[0])
    assert bench.table.begin(spare, bench.now_ms)
    bench.table.wait(spare, None, bench.now_ms)
    later = bench.let_in("f")
    assert not bench.table.begin(later, bench.now_ms)


def test_spare_connections_give_way_to_each_other(bench: TableWithClock) -> None:
    """So a health check gets one, whoever holds them; where all are answered it can't."""
    for address in "abcd":
        bench.busy(address)
    first, second = bench.let_in("e"), bench.let_in("f")
    bench.let_in("g")
    assert bench.evicted == [first]
    bench.table.wait(second, None, bench.now_ms)
    bench.busy("h")
    assert bench.admit("i") is None
    assert len(bench.table) == 6


def test_a_head_has_its_time_from_connecting_on(bench: TableWithClock) -> None:
    """However often it is said that it is waited for: a byte at a time gains none."""
    number = bench.let_in("a")
    bench.now_ms += 60
    bench.table.wait(number, Waits.HEAD, bench.now_ms)
    assert bench.overdue(number) is None
    bench.now_ms += 40
    assert bench.overdue(number) is Waits.HEAD


def test_a_body_has_its_time_from_the_head_on(bench: TableWithClock) -> None:
    """Whatever else is waited for in between."""
    number = bench.let_in("a")
    bench.table.begin(number, bench.now_ms)
    bench.table.wait(number, Waits.BODY, bench.now_ms)
    bench.now_ms += 199
    bench.table.wait(number, None, bench.now_ms)
    assert bench.overdue(number, ConnectionProgress(body_open=True)) is None
    bench.now_ms += 1
    assert bench.overdue(number, ConnectionProgress(body_open=True)) is Waits.BODY
    assert bench.overdue(number) is None


def test_between_two_requests_little_time_is_given(bench: TableWithClock) -> None:
    """While one is answered none is counted."""
    number = bench.busy("a")
    bench.now_ms += 10_000
    assert bench.overdue(number) is None
    bench.table.wait(number, Waits.NEXT, bench.now_ms)
    bench.now_ms += 50
    assert bench.overdue(number) is Waits.NEXT


def test_a_response_has_to_be_taken_piece_by_piece(bench: TableWithClock) -> None:
    """All that there is, or so much of it each time; else it is overdue, though we work on."""
    number = bench.busy("a")
    for taken in (0, 1_000, 2_000, 3_000):
        assert bench.overdue(number, ConnectionProgress(untaken=5, taken=taken)) is None
        bench.now_ms += 299
    assert bench.overdue(number, ConnectionProgress(untaken=0, taken=3_005)) is None
    assert bench.overdue(number, ConnectionProgress(untaken=9, taken=3_005)) is None
    bench.now_ms += 300
    assert bench.overdue(number, ConnectionProgress(untaken=9, taken=4_004)) is Waits.TAKING


def test_memory_for_what_is_not_taken_is_bounded(bench: TableWithClock) -> None:
    """Strangers lose theirs first, those with most of it first."""
    known, small, large = (bench.busy(address) for address in "abc")
    bench.table.prove(known)
    assert bench.table.too_much({known: 6_000, small: 1_000, large: 3_000}) == ()
    assert bench.table.too_much({known: 9_000, small: 1_000, large: 3_000}) == (large,)
    assert bench.table.too_much({known: 11_000, small: 1, large: 2}) == (large, small, known)


def test_a_closed_connection_is_nobody(bench: TableWithClock) -> None:
    """Whatever is still said of it."""
    number = bench.let_in("a")
    bench.table.close(number)
    bench.table.close(number)
    bench.table.wait(number, Waits.NEXT, bench.now_ms)
    bench.table.prove(number)
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
def test_a_network_of_ipv6_is_one_address(host: str, key: str) -> None:
    """A client has one for itself."""
    assert address_key(host) == key
