"""Reads CPU times and memory from /proc: ours, one process's, and those of all others."""

import os
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class ProcessTimes:
    """A process's parent and CPU times, from /proc.

    Attributes:
        parent: its parent's id.
        cpu_seconds: CPU time of its own.
        waited_seconds: CPU time of the children that it has waited for.
    """

    parent: int
    cpu_seconds: float
    waited_seconds: float


def process_times(pid: int) -> ProcessTimes | None:
    """Return the times of one process; None if it does not exist."""
    try:
        text = (_PROC / str(pid) / "stat").read_text("utf-8", "replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()  # a name may contain spaces
    own, waited = (int(fields[at]) + int(fields[at + 1]) for at in (11, 13))
    return ProcessTimes(int(fields[1]), own / _TICKS_PER_SECOND, waited / _TICKS_PER_SECOND)


def descendants(root: int) -> dict[int, ProcessTimes]:
    """Return the times of a process and all its descendants, by process id."""
    found = {int(path.name): process_times(int(path.name)) for path in _PROC.glob("[0-9]*")}
    children = defaultdict(list)
    for pid, times in found.items():
        if times is not None:
            children[times.parent].append(pid)
    tree: dict[int, ProcessTimes] = {}
    left = [root]
    while left:
        pid = left.pop()
        times = found.get(pid)
        if times is not None:
            tree[pid] = times
            left.extend(children[pid])
    return tree


def find_descendant(root: int, word: str) -> int | None:
    """Return the id of a process below ``root`` with this word on its command line, or None."""
    for pid in descendants(root):
        try:
            words = (_PROC / str(pid) / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if word.encode() in words:
            return pid
    return None


def peak_kb(pid: int) -> int:
    """Return the peak memory of a process, in KiB; 0 if it is gone."""
    try:
        lines = (_PROC / str(pid) / "status").read_text("ascii", "replace").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)


@dataclass(frozen=True, slots=True)
class Load:
    """CPU seconds since the machine started.

    Attributes:
        busy: of all processors, including time stolen by other machines.
        ours: of this process and all its descendants.
        broker: of the broker.
    """

    busy: float
    ours: float
    broker: float

    def __sub__(self, before: "Load") -> "Load":
        return Load(self.busy - before.busy, self.ours - before.ours, self.broker - before.broker)

    @property
    def foreign(self) -> float:
        """CPU seconds of other processes."""
        return max(0.0, self.busy - self.ours)


def load_now(broker_pid: int | None) -> Load:
    """Return the current load; without a broker its part is 0."""
    cpu = (_PROC / "stat").read_text("ascii").split("\n", 1)[0].split()[1:9]
    user, nice, system, _, _, interrupts, soft_interrupts, stolen = map(int, cpu)
    busy = user + nice + system + interrupts + soft_interrupts + stolen
    tree = descendants(os.getpid())
    ours = sum(process.cpu_seconds + process.waited_seconds for process in tree.values())
    broker = tree.get(broker_pid) if broker_pid is not None else None
    return Load(busy / _TICKS_PER_SECOND, ours, broker.cpu_seconds if broker else 0.0)
