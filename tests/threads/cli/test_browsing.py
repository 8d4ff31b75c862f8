"""Commands that show messages get schemas from the operator's registry, with its credentials."""

import argparse
import json
import os
import threading
from base64 import b64encode
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.registry_server import registry_server
from zkconsumer.browse.decoding import BytesDecoder, Form
from zkconsumer.browse.message import BrowseResult, SeenMessage
from zkconsumer.browse.query import MessageQuery
from zkconsumer.cli.browsing import CommandBrowser
from zkconsumer.cli.cluster_arguments import DEFAULT_TIMEOUT_MS
from zkconsumer.cli.main import main
from zkconsumer.errors import ConfigError
from zkconsumer.schemas.remembered import SchemaMemory

ORDER = json.dumps({"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]})


def args(registry: str | None, config: Path | None) -> argparse.Namespace:
    """Return the arguments of a command."""
    return argparse.Namespace(
        schema_registry=registry, schema_registry_config=None if config is None else str(config)
    )


def message_of(value: bytes) -> SeenMessage:
    """Return a message without a key."""
    decoder = BytesDecoder()
    return SeenMessage(
        topic="t",
        partition=0,
        offset=0,
        timestamp=-1,
        raw_key=None,
        raw_value=value,
        key=decoder.decode(None),
        value=decoder.decode(value),
    )


def hang(_: object) -> None:
    """Do not respond for a while."""
    threading.Event().wait(0.3)


def test_schemas_of_a_registry_that_wants_a_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Missing schemas, bad bytes and a wrong password are named, in limited time."""
    config = tmp_path / "registry.properties"
    config.write_text("basic.auth.user.info=me:hidden\nrequest.timeout.ms=50\n")
    with registry_server() as registry:
        registry.by_id[7] = {"schema": ORDER}
        registry.authorization = "Basic " + b64encode(b"me:hidden").decode()
        decode = CommandBrowser(args(registry.url, config)).decoder().decode
        assert decode(b"\0\0\0\0\x07\x54").value == {"id": 42}
        assert decode(b"\0\0\0\0\x07\xff").note.startswith("schema 7: ")
        assert decode(b"\0\0\0\0\x09\x54").note == "there is no schema 9"
        browser = CommandBrowser(args(registry.url, config))
        for _ in range(2):
            assert browser.decoder().decode(b"\0\0\0\0\x07\x54").value == {"id": 42}
        assert registry.requests.count("/schemas/ids/7") == 2, "once by each of both"
        refused = CommandBrowser(args(registry.url, None)).decoder().decode(b"\0\0\0\0\x07\x54")
        assert (refused.kind, "refused the request (401)" in refused.note) == ("hex", True)
        assert "hidden" not in refused.note
        registry.responder = hang
        monkeypatch.setattr("zkconsumer.cli.browsing._REGISTRY_BUDGET_MS", 500)
        hanging = CommandBrowser(args(registry.url, config)).decoder().decode
        notes = [hanging(b"\0\0\0\0" + bytes([number])).note for number in range(1, 60)]
        assert "can't be reached" in notes[0]
        assert "used up the time limit for schemas" in notes[-1]


def test_settings_of_a_registry_from_a_pipe() -> None:
    """A pipe can be read once only; its settings hold for every cluster that is read later."""
    read, write = os.pipe()
    with closing(os.fdopen(read)), registry_server() as registry:
        with os.fdopen(write, "w") as pipe:
            pipe.write("basic.auth.user.info=me:hidden\n")
        registry.by_id[7] = {"schema": ORDER}
        registry.authorization = "Basic " + b64encode(b"me:hidden").decode()
        given = args(registry.url, Path(f"/dev/fd/{read}"))
        browser = CommandBrowser(given)
        for other in (browser, browser.at(given)):
            other._known = SchemaMemory()
            assert other.decoder().decode(b"\0\0\0\0\x07\x54").value == {"id": 42}


@pytest.mark.parametrize(("form", "shown"), [("hex", "ff 00"), ("text", "\\xff\\x00")])
def test_bytes_in_a_pipe_are_whole(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], form: Form, shown: str
) -> None:
    """Values are written in full in the requested form, however large; null is "null"."""
    value, decoder = b"\xff\0" * 9_000, BytesDecoder()
    message = SeenMessage(
        topic="t",
        partition=0,
        offset=0,
        timestamp=-1,
        raw_key=None,
        raw_value=value,
        key=decoder.decode(None, form=form),
        value=decoder.decode(value, form=form),
    )
    found = BrowseResult(messages=[message], scanned=1)
    monkeypatch.setattr(
        "zkconsumer.cli.consume.browsing.CommandBrowser", lambda *_, **__: lambda _: found
    )
    show = ("--show-as", form, "--property", "print.key=true", "--property", "key.separator=|")
    assert main(["consume", "--bootstrap-server", "b:1", "--topic", "t", "--tail", "1", *show]) == 0
    between = " " if form == "hex" else ""
    assert capfd.readouterr().out == f"null|{between.join([shown] * 9_000)}\n"


@pytest.mark.parametrize("flags", [[], ["--follow", "--max-messages", "1"]])
def test_a_negative_time_out_is_none(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], flags: list[str]
) -> None:
    """It means no limit, as for a member of a group: neither is the browser's, nor ends it."""
    found = BrowseResult(messages=[message_of(b"hello")], scanned=1)

    class Browser:
        def __init__(self, args: argparse.Namespace, *, limits: object = None) -> None:
            del limits
            assert args.timeout_ms == DEFAULT_TIMEOUT_MS

        def __call__(self, query: MessageQuery) -> BrowseResult:
            del query
            return found

        def follow(self, query: MessageQuery) -> Generator[BrowseResult, None, None]:
            del query
            yield BrowseResult()
            yield found

    monkeypatch.setattr("zkconsumer.cli.consume.browsing.CommandBrowser", Browser)
    words = ["consume", "--bootstrap-server", "b:1", "--topic", "t", "--tail", "1"]
    assert main([*words, "--timeout-ms", "-1", *flags]) == 0
    assert capfd.readouterr().out == "hello\n"


@pytest.mark.parametrize("start", [["--tail", "5"], ["--from-time", "1"]])
@pytest.mark.parametrize("most", [0, 1, 9])
def test_no_more_messages_are_printed_than_requested(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], start: list[str], most: int
) -> None:
    """``--max-messages`` holds without ``--follow``, too, even if it is 0."""
    found = BrowseResult(messages=[message_of(b"a"), message_of(b"b")], scanned=2)
    monkeypatch.setattr(
        "zkconsumer.cli.consume.browsing.CommandBrowser", lambda *_, **__: lambda _: found
    )
    words = ["consume", "--bootstrap-server", "b:1", "--topic", "t", *start]
    assert main([*words, "--max-messages", str(most)]) == 0
    printed = capfd.readouterr()
    assert printed.out.split() == ["a", "b"][:most]
    assert printed.err == f"{min(most, 2)} of 2 messages read\n"


def test_invalid_registry_settings_are_refused(tmp_path: Path) -> None:
    """They are before any message is read."""
    config = tmp_path / "registry.properties"
    config.write_text("basic.auth.user=me\n")
    for registry, reason in (("http://r:1", "is not a setting"), (None, "give --schema-registry")):
        with pytest.raises(ConfigError, match=reason):
            CommandBrowser(args(registry, config))
