"""Request logs of real brokers, and the clients found in them that Kafka 4 would refuse.

``python -m tests.golden.capture_request_logs`` captures them again.
"""

import pytest

from tests.golden.capture_request_logs import LIBRARY, LOGGED, RELEASES, path_of
from zkconsumer.status.doctor.request_logs import read_request_log


@pytest.mark.parametrize("release", RELEASES)
def test_clients_that_kafka_4_would_refuse_are_reported(release: str) -> None:
    """The report lists each client with its address and nobody else, in particular no broker."""
    lines = path_of(release).read_text("utf-8").splitlines()
    read = read_request_log("log", lines)
    expected = []
    for logged in LOGGED:
        if logged.reported and logged.is_of(release):
            named = f"client {logged.client_id!r}" if logged.client_id else "a client without an id"
            library = f" ({LIBRARY} 1.0)" if logged.says_library else ""
            who = f"{named} at 127.0.0.1{library}"
            expected.append(f"{logged.reported} version {logged.version}, 1 time, by {who}")
    assert sorted(map(str, read.refused)) == sorted(expected)
    assert sum(logged.is_of(release) for logged in LOGGED) < read.total <= len(lines)
    assert any("etcher" in line for line in lines), "a follower is among them"
