"""Parses request logs of brokers, and finds the requests that Kafka 4 rejects. Pure.

Brokers of all releases log each request, its version, and the client's id and address, once
``kafka.request.logger`` is at DEBUG (0.10.2: TRACE). Brokers before 2.0 report versions in no other
way.

Source: ``RequestChannel`` of 0.8.2.2 to 3.9.1, whose lines differ.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from zkconsumer.printable import printable
from zkconsumer.status.doctor.request_counts import CLIENT_REQUESTS, RequestCount

_MARK: Final = "Completed request:"
_HEAD_CHARS: Final = 4_096
TAIL_CHARS: Final = 4_096
"""The size of the part at a line's end that has the client's address and library."""
_SHOWN_CHARS: Final = 100
_MOST_KINDS: Final = 10_000
_NAMED: Final = {
    "FETCH": "FetchConsumer",
    "FETCHREQUEST": "FetchConsumer",
    "PRODUCERREQUEST": "Produce",
    "OFFSETREQUEST": "ListOffsets",
    "OFFSETCOMMITREQUEST": "OffsetCommit",
    "OFFSETFETCHREQUEST": "OffsetFetch",
    **{name.upper(): name for name, _ in CLIENT_REQUESTS.values()},
}
"""The requests by the names that brokers of 0.8 and later log, in capitals, no underscores."""
# Client ids are arbitrary text, so matching must take linear time, and a line that is too long to
# be read to its end must not hide the request.
_HEADERS: Final = (
    re.compile(
        r'"requestApiKey":(\d+),"requestApiVersion":(\d+),.{0,40}?'
        r'"clientId":(?:null|"((?:[^"\\]++|\\.)*+)(?:"|\\?\Z))',
        re.DOTALL,
    ),
    re.compile(
        r"RequestHeader\(apiKey=(\w+), apiVersion=(\d+), clientId=(.*?)(?:, correlationId=|\Z)",
        re.DOTALL,
    ),
    re.compile(
        r"\{api_key=(\d+),api_version=(\d+),correlation_id=-?\d+,client_id=([^}]*)(?:\}|\Z)"
    ),
    re.compile(
        r"Name: ?(\w+); ?Version: ?(\d+);[^:;]*:[^:;]*; ?ClientId: ?(.*?)(?:;| from |\Z)", re.DOTALL
    ),
)
_FOLLOWER: Final = re.compile(r'replica_?id"?[:=] ?\d', re.IGNORECASE)
_ADDRESS: Final = re.compile(
    r'(?:"connection":"|from connection )'
    r'[^\s"-]{1,60}:\d{1,5}-([^\s"-]{1,60}):\d{1,5}(?:-\d{1,10})?[;"]'
)
_OLD_ADDRESS: Final = re.compile(r"from client /(\S{1,60}?):\d{1,5};")
_LIBRARY: Final = re.compile(r'"softwareName":"([^"]*)","softwareVersion":"([^"]*)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLog:
    """The requests in a broker's request log.

    Attributes:
        source: its file, for messages.
        total: the number of requests in it.
        refused: the requests that Kafka 4 rejects, with the client, the most frequent first.
    """

    source: str
    total: int = 0
    refused: tuple[RequestCount, ...] = ()


def read_request_log(source: str, lines: Iterable[str]) -> RequestLog:
    """Return the requests in the lines of a request log; other lines are skipped."""
    total = 0
    refused: Counter[RequestCount] = Counter()
    for line in lines:
        begin = line.find(_MARK)
        request = None if begin < 0 else _request(line[begin + len(_MARK) :])
        if request is None:
            continue
        total += 1
        if request.is_refused and (request in refused or len(refused) < _MOST_KINDS):
            refused[request] += 1
    return RequestLog(
        source=source,
        total=total,
        refused=tuple(
            RequestCount(
                request=request.request,
                version=request.version,
                count=count,
                library=request.library,
            )
            for request, count in refused.most_common()
        ),
    )


def _request(text: str) -> RequestCount | None:
    """Return one request; None if the line is of another form."""
    head = text[:_HEAD_CHARS]
    match = next((found for form in _HEADERS if (found := form.search(head))), None)
    if match is None:
        return None
    api, version, client = match.groups()
    request = _name(api)
    if request == "FetchConsumer" and _FOLLOWER.search(head, match.end()):
        request = "FetchFollower"
    return RequestCount(
        request=request, version=int(version[:6]), count=1, library=_client(text, client or "")
    )


def _name(api: str) -> str:
    if api.isdecimal():
        return CLIENT_REQUESTS.get(int(api[:6]), ("", 0))[0]
    return _NAMED.get(api.replace("_", "").upper(), "")


def _client(text: str, client_id: str) -> str:
    """Return the client that sent the request, as far as the line names it."""
    tail = text[-TAIL_CHARS:]
    address = _ADDRESS.search(tail) or _OLD_ADDRESS.search(tail)
    library = _LIBRARY.search(tail)
    parts = [f"client {client_id!r}" if client_id not in {"", "null"} else "a client without an id"]
    if address is not None:
        parts.append(f"at {address[1].lstrip('/')}")
    if library is not None and library[1] != "unknown":
        parts.append(f"({library[1]} {library[2]})")
    return printable(" ".join(parts))[:_SHOWN_CHARS]
