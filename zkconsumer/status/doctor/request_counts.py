"""Counts of clients' requests by version, as brokers report them, and what Kafka 4 rejects. Pure.

Brokers from 2.0 on count requests by version (``RequestsPerSec``); from 3.7 on separately those
that Kafka 4 rejects, with the client's library (``DeprecatedRequestsPerSec``). The same numbers
come as MBeans, or as samples of a Prometheus exporter, whose rules may have renamed them.

Source: KIP-272, KIP-511, KIP-896; ``RequestMetrics`` of 2.8.2 and 3.9.1.
"""

import heapq
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

from zkconsumer.printable import printable

CLIENT_REQUESTS: Final[Mapping[int, tuple[str, int]]] = {
    0: ("Produce", 3),
    1: ("FetchConsumer", 4),
    2: ("ListOffsets", 1),
    8: ("OffsetCommit", 2),
    9: ("OffsetFetch", 1),
    19: ("CreateTopics", 2),
    20: ("DeleteTopics", 1),
    29: ("DescribeAcls", 1),
    30: ("CreateAcls", 1),
    31: ("DeleteAcls", 1),
    32: ("DescribeConfigs", 1),
    34: ("AlterReplicaLogDirs", 1),
    35: ("DescribeLogDirs", 1),
    38: ("CreateDelegationToken", 1),
    39: ("RenewDelegationToken", 1),
    40: ("ExpireDelegationToken", 1),
    41: ("DescribeDelegationToken", 1),
}
"""The requests of clients by API key: the name, and the oldest version that Kafka 4 takes, where
that is not 0."""
_FIRST_IN_4: Final = dict(CLIENT_REQUESTS.values())
_NOT_OF_CLIENTS: Final = frozenset({"Fetch", "FetchFollower"})
"""Not requests of clients alone: ``Fetch`` counts those of consumers and followers together."""
_MOST_COUNTS: Final = 10_000
_LONGEST_NAME: Final = 60
_LONGEST_LINE: Final = 4_096

# Without the \b, matching would be tried from each letter of a long word.
_PROPERTY = re.compile(r'\b(\w++)=("(?:[^"\\]|\\.)*"|[^,]*)')
_LINE = re.compile(r"[^\r\n]+")
_SAMPLE = re.compile(r"(\w+)\{(.*)\}\s+(\S+)")
_LABEL = re.compile(r'\b(\w++)="((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestCount:
    """The number of requests of one kind, version and library that a broker received.

    Attributes:
        request: the kind of request, such as ``FetchConsumer``.
        version: the version of the request; None: unknown.
        count: their number since the broker started.
        is_deprecated: whether the broker itself reports that Kafka 4 rejects it.
        library: the client's library and its release; "" if unknown.
    """

    request: str
    version: int | None
    count: int
    is_deprecated: bool = False
    library: str = ""

    @property
    def is_refused(self) -> bool:
        """Whether Kafka 4 rejects such requests."""
        if self.request in _NOT_OF_CLIENTS or self.count <= 0:
            return False
        is_too_old = self.version is not None and self.version < _FIRST_IN_4.get(self.request, 0)
        return self.is_deprecated or is_too_old

    def __str__(self) -> str:
        """Return the count as a line for people."""
        version = "" if self.version is None else f" version {self.version}"
        times = f"{self.count} time{'' if self.count == 1 else 's'}"
        return f"{self.request}{version}, {times}, by {self.library or 'an unnamed client library'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestMetrics:
    """The requests that one endpoint has counted.

    Attributes:
        source: the broker or endpoint, for messages.
        counts: the counts that were read.
        problem: why none could be read; None: they were read.
        broker: the id of the broker at that endpoint; None: unknown or ambiguous.
    """

    source: str
    counts: tuple[RequestCount, ...] = ()
    problem: str | None = None
    broker: int | None = None

    @property
    def tells_versions(self) -> bool:
        """Whether the absence of a version among the counts proves anything."""
        return any(count.version is not None for count in self.counts)

    def refused(self) -> list[RequestCount]:
        """Return the requests that Kafka 4 rejects, each once, with its library if known."""
        refused = [count for count in self.counts if count.is_refused]
        deprecated = {(count.request, count.version) for count in refused if count.is_deprecated}
        return [
            count
            for count in refused
            if count.is_deprecated or (count.request, count.version) not in deprecated
        ]


def counts_of_mbeans(mbeans: Iterable[tuple[str, Any]]) -> tuple[RequestCount, ...]:
    """Return the counts that MBeans hold."""
    return _worst(_mbean_count(mbean[:_LONGEST_LINE], count) for mbean, count in mbeans)


def counts_of_samples(text: str) -> tuple[RequestCount, ...]:
    """Return the counts among the samples of a Prometheus exporter, whatever its naming rules."""
    return _worst(_sample_counts(text))


def _mbean_count(mbean: str, count: Any) -> RequestCount | None:
    keys = {key: value.strip('"') for key, value in _PROPERTY.findall(mbean)}
    return _count(keys, keys.get("name", ""), count)


def _sample_counts(text: str) -> Iterator[RequestCount | None]:
    for match in _LINE.finditer(text):
        line = match[0]
        is_one = "equest" in line and len(line) <= _LONGEST_LINE
        if is_one and (sample := _SAMPLE.match(line)) is not None:
            labels = dict(_LABEL.findall(sample[2]))
            name = sample[1].lower()
            if "requestmetrics" in name and name.endswith(("count", "total")):
                # Most rules turn RequestsPerSec into requests_total.
                whole = name.replace("requests_total", "requestspersec") + labels.get("name", "")
                yield _count(labels, whole, sample[3])


def _count(keys: Mapping[str, str], name: str, count: Any) -> RequestCount | None:
    if not name.lower().replace("_", "").endswith("requestspersec") or "request" not in keys:
        return None
    try:
        number = int(float(count))
    except (TypeError, ValueError, OverflowError):
        return None
    version = keys.get("version", "")
    names = [keys.get(f"clientSoftware{key}", "") for key in ("Name", "Version")]
    library = " ".join(text for text in names if text not in {"", "unknown"})
    return RequestCount(
        request=_shown(keys["request"]),
        version=int(version) if version.isdecimal() and len(version) < 6 else None,
        count=number,
        is_deprecated="deprecated" in name.lower(),
        library=_shown(library),
    )


def _shown(text: str) -> str:
    return printable(text)[:_LONGEST_NAME]


def _worst(found: Iterable[RequestCount | None]) -> tuple[RequestCount, ...]:
    """Return up to ``_MOST_COUNTS`` counts, rejected and large ones first, in bounded memory."""
    counts = (count for count in found if count is not None)
    order = attrgetter("is_refused", "count")
    return tuple(heapq.nlargest(_MOST_COUNTS, counts, key=order))
