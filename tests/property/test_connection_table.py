"""Whatever clients do, the table of connections stays within its limits."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from zkconsumer.inbound.table import (
    ConnectionLimits,
    ConnectionProgress,
    ConnectionTable,
    WaitingFor,
)

ADDRESSES = ("a", "b", "c")


class ConnectionMachine(RuleBasedStateMachine):
    """Clients connect, send requests, stay silent and close, in any order."""

    @initialize(
        connections=st.integers(1, 6), spare=st.integers(0, 3), per_address=st.integers(1, 6)
    )
    def begin(self, connections: int, spare: int, per_address: int) -> None:
        """Start with any limits."""
        self.limits = ConnectionLimits(
            connections=connections, spare=spare, per_address=per_address, next_ms=10
        )
        self.table = ConnectionTable(self.limits)
        self.open: dict[int, tuple[str, WaitingFor | None]] = {}
        self.authenticated: set[int] = set()
        self.now_ms = 0

    @rule(address=st.sampled_from(ADDRESSES))
    def connect(self, address: str) -> None:
        """Admitting may evict only waiting connections; a refusal means that none is waiting."""
        number, evicted = self.table.admit(address, self.now_ms)
        for connection in evicted:
            assert self.open.pop(connection)[1] is not None
        if number is None:
            assert len(self.open) >= self.limits.connections + self.limits.spare
            assert all(waits is None for _, waits in self.open.values())
        else:
            self.open[number] = (address, WaitingFor.HEAD)
            of_address = [
                opened
                for opened, (whose, waits) in self.open.items()
                if whose == address and waits is not None and opened not in self.authenticated
            ]
            bound = self.limits.per_address + self.limits.spare
            assert len(of_address) <= bound

    @precondition(lambda self: self.open)
    @rule(data=st.data(), waits=st.sampled_from([None, *WaitingFor]))
    def go_on(self, data: st.DataObject, waits: WaitingFor | None) -> None:
        """Let a connection wait for something, or work on a request."""
        number = data.draw(st.sampled_from(sorted(self.open)))
        if waits is None or waits is WaitingFor.HEAD:
            self.table.begin(number, self.now_ms)
        # Several connections of an address may have been answered and begin to wait together.
        address, before = self.open[number]
        if before is None and waits is not None:
            self.table.authenticate(number)
            self.authenticated.add(number)
        self.table.wait(number, waits, self.now_ms)
        self.open[number] = (address, waits)

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def go(self, data: st.DataObject) -> None:
        """Close a connection."""
        number = data.draw(st.sampled_from(sorted(self.open)))
        self.table.close(number)
        del self.open[number]

    @rule(passed_ms=st.integers(1, 20))
    def time_passes(self, passed_ms: int) -> None:
        """Let time pass: a connection that waits too long is overdue."""
        self.now_ms += passed_ms
        for number, (_, waits) in list(self.open.items()):
            found = self.table.overdue(number, ConnectionProgress(), self.now_ms)
            assert found in {None, waits}

    @invariant()
    def limits_hold(self) -> None:
        """There are no more connections than allowed, and none is forgotten."""
        assert len(self.table) == len(self.open)
        assert len(self.open) <= self.limits.connections + self.limits.spare
        waiting = {number for number, (_, waits) in self.open.items() if waits is not None}
        assert set(self.table.waiting()) == waiting


TestConnectionTable = ConnectionMachine.TestCase
TestConnectionTable.settings = settings(deadline=None)
