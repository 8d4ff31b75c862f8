"""Reading the broker's request log for ``--request-log``."""

import argparse
from pathlib import Path

import pytest

from zkconsumer.cli.doctor.ready import (
    add_readiness_options,
    check_readiness_options,
    request_log,
)
from zkconsumer.errors import ConfigError

HEAD = "DEBUG Completed request:RequestHeader(apiKey=FETCH, apiVersion=0, clientId="
REST = ", correlationId=6) -- {replica_id=-1,topics=["
END = "]} from connection 10.0.0.1:9092-10.0.0.7:61040-0;totalTime:2.42 (kafka.request.logger)\n"


@pytest.mark.parametrize("size", [0, 65_000, 66_000, 131_072, 400_000])
def test_a_long_line_is_one_request_of_its_client(tmp_path: Path, size: int) -> None:
    """The client's address is at the end of the line; the part in between is not kept in memory."""
    file = tmp_path / "kafka-request.log"
    line = HEAD + "old" + REST + "x" * size + END
    file.write_text(line * 3)
    read = request_log(str(file))
    assert read.total == 3
    assert [str(count) for count in read.refused] == [
        "FetchConsumer version 0, 3 times, by client 'old' at 10.0.0.7"
    ]


def test_a_client_id_may_hold_line_separators(tmp_path: Path) -> None:
    """Bytes that are not UTF-8 and an incomplete last line are accepted."""
    file = tmp_path / "kafka-request.log"
    lines = HEAD + "o\rd\u2028" + REST + END + HEAD + "half"
    file.write_bytes(lines.encode() + b"\xff")
    read = request_log(str(file))
    assert sorted(str(count).partition(" by ")[2] for count in read.refused) == [
        "client 'half\ufffd'",
        "client 'o\\rd\\u2028' at 10.0.0.7",
    ]


@pytest.mark.parametrize("name", ["missing.log", "."])
def test_a_missing_log_is_refused_before_the_cluster_is_read(tmp_path: Path, name: str) -> None:
    """A misspelt name is reported at once."""
    parser = argparse.ArgumentParser()
    add_readiness_options(parser)
    file = str(tmp_path / name)
    args = parser.parse_args(["--ready-for", "4.0", "--request-log", file])
    args.fix, args.group = False, None
    with pytest.raises(ConfigError, match="is not a readable file"):
        check_readiness_options(args)
