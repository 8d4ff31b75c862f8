"""What a poison policy does with unreadable messages: raise, skip, or write a dead letter."""

import base64
import json
import logging
import os
import stat
from pathlib import Path

import pytest

from tests.support.chunks import T0
from tests.support.dead_letters import dead_letter_file, dead_letters, poison
from tests.support.manual_clock import ManualClock
from tests.support.resources import resource_limit
from zkconsumer.errors import ConfigError, DeadLetterFailed, PartitionFailed
from zkconsumer.fetch.claim import Poison
from zkconsumer.observe import ErrorSeen, Event, MemberName, MessagePoisoned, Observation
from zkconsumer.streams.poison import RAISE, DeadLetterFile, PoisonMode, PoisonPolicy


class Notes:
    """An observer that records events."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def observe(self, member: MemberName, event: Event) -> None:
        """See ``Observer``."""
        assert member.group_id == "g"
        self.events.append(event)

    @property
    def observation(self) -> Observation:
        """Return an observation that reports to this observer."""
        return Observation(MemberName("g", "c"), (self,))


def policy(mode: str, path: Path | str = "", notes: Notes | None = None) -> PoisonPolicy:
    """Create a policy as a connector does."""
    observation = (notes or Notes()).observation
    letters = DeadLetterFile(path, ManualClock()) if mode == PoisonMode.DEAD_LETTER else None
    return PoisonPolicy(PoisonMode(mode), dead_letters=letters, observation=observation)


# --- the policies --------------------------------------------------------------------------------


def test_raise_raises_the_poisons_own_error() -> None:
    """The default policy raises the poison's own error, whether its next offset is known or not."""
    notes = Notes()
    for message in (poison(), poison(next_offset=None)):
        for chosen in (policy("raise", notes=notes), RAISE):
            with pytest.raises(PartitionFailed) as raised:
                chosen.handle(message)
            assert raised.value is message.error
    reason = str(poison().error)
    assert notes.events == [
        MessagePoisoned(T0, 5, 6, "raise", reason),
        MessagePoisoned(T0, 5, None, "raise", reason),
    ]


def test_skip_logs_and_continues(caplog: pytest.LogCaptureFixture) -> None:
    """Skipping logs which offset is lost and where the stream continues."""
    notes = Notes()
    with caplog.at_level(logging.ERROR):
        policy("skip", notes=notes).handle(poison())
    assert "t-0: continuing at offset 6" in caplog.text
    assert "CRC" in caplog.text
    assert notes.events == [MessagePoisoned(T0, 5, 6, "skip", str(poison().error))]


@pytest.mark.parametrize("mode", ["skip", "dead_letter"])
def test_no_policy_passes_poison_whose_next_offset_is_unknown(mode: str, tmp_path: Path) -> None:
    """If the next offset is unknown, every policy raises, and no dead letter is written."""
    notes, path = Notes(), tmp_path / "letters"
    with pytest.raises(PartitionFailed):
        policy(mode, path, notes).handle(poison(next_offset=None))
    assert [event.policy for event in notes.events if isinstance(event, MessagePoisoned)] == [
        "raise"
    ]
    assert not path.exists() or dead_letters(path) == []


def test_a_dead_letter_describes_the_message(tmp_path: Path) -> None:
    """A dead letter has topic, partition, offset, reason, time and the message's bytes."""
    path = tmp_path / "letters"
    file = dead_letter_file(path)
    file.write(poison())
    file.write(Poison(T0, 9, 12, PartitionFailed(T0, 9, "x"), b"front", raw_is_whole=False))
    first, second = dead_letters(path)
    assert first == {
        "topic": "t",
        "partition": 0,
        "offset": 5,
        "next_offset": 6,
        "reason": "t-0 stopped at offset 5: CRC",
        "time": "2014-05-13T16:53:20.123+00:00",
        "raw": base64.b64encode(b"\x00raw\xff").decode(),
        "raw_is_whole": True,
    }
    assert (second["offset"], second["raw_is_whole"]) == (9, False)


def test_the_stream_continues_once_the_dead_letter_is_written(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """After the dead letter is written the stream continues, and observers are notified."""
    notes, path = Notes(), tmp_path / "letters"
    with caplog.at_level(logging.ERROR):
        policy("dead_letter", path, notes).handle(poison())
    assert [line["offset"] for line in dead_letters(path)] == [5]
    assert [type(event) for event in notes.events] == [MessagePoisoned]


# --- the file ------------------------------------------------------------------------------------


def test_the_file_is_its_owners_alone_and_there_from_the_start(tmp_path: Path) -> None:
    """The file exists from the start and only its owner can read it: messages may be secret."""
    path = tmp_path / "letters"
    dead_letter_file(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_bytes() == b""


def test_a_restart_appends_to_what_is_there(tmp_path: Path) -> None:
    """After a restart, dead letters are appended to the file."""
    path = tmp_path / "letters"
    for offset in (1, 2):
        dead_letter_file(path).write(poison(offset))
    assert [line["offset"] for line in dead_letters(path)] == [1, 2]


def test_a_line_that_broke_off_does_not_swallow_the_next(tmp_path: Path) -> None:
    """After a crash in the middle of a write, the next line stands on its own."""
    path = tmp_path / "letters"
    path.write_bytes(b'{"topic": "t", "par')
    dead_letter_file(path).write(poison(7))
    broken, whole = path.read_text().splitlines()
    assert broken == '{"topic": "t", "par'
    assert json.loads(whole)["offset"] == 7


def test_a_file_that_was_moved_away_is_created_again(tmp_path: Path) -> None:
    """A file that was moved away is created again: log rotation needs no restart."""
    path = tmp_path / "letters"
    file = dead_letter_file(path)
    file.write(poison(1))
    path.rename(tmp_path / "old")
    file.write(poison(2))
    assert [line["offset"] for line in dead_letters(path)] == [2]
    assert [line["offset"] for line in dead_letters(tmp_path / "old")] == [1]


def test_a_dead_letter_is_synced_before_the_stream_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dead letter is synced before the stream continues; the directory of a new file, too."""
    synced: list[tuple[str, int]] = []

    def fsync(file: int) -> None:
        path = Path(f"/proc/self/fd/{file}").resolve()
        synced.append((path.name, path.stat().st_size if path.is_file() else 0))

    monkeypatch.setattr(os, "fsync", fsync)
    file = dead_letter_file(tmp_path / "letters")
    assert synced == [("letters", 0), (tmp_path.name, 0)]
    file.write(poison())
    size = (tmp_path / "letters").stat().st_size
    assert size > 100
    assert synced[2:] == [("letters", size)]


# --- trouble -------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["", "missing/letters", "."])
def test_an_impossible_file_is_refused_at_the_start(path: str, tmp_path: Path) -> None:
    """A file without a name or a directory, or one that is a directory, is refused with the key."""
    with pytest.raises(ConfigError, match=r"poison\.dead\.letter\.file"):
        policy("dead_letter", tmp_path / path if path else "")


def test_a_file_that_is_not_regular_is_refused(tmp_path: Path) -> None:
    """A pipe is refused: it keeps nothing, and blocks whoever opens it."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigError, match="not a regular file"):
        dead_letter_file(tmp_path / "pipe")


def test_mode_and_file_go_together() -> None:
    """The dead-letter policy needs a file, and no other policy takes one."""
    with pytest.raises(ConfigError, match="can't be used with"):
        PoisonPolicy(PoisonMode.DEAD_LETTER)


def test_other_policies_ignore_the_file(tmp_path: Path) -> None:
    """Other policies ignore the file's path."""
    policy("raise", tmp_path / "missing" / "letters")
    policy("skip", tmp_path / "letters")
    assert list(tmp_path.iterdir()) == []


def test_a_letter_that_cannot_be_written_holds_the_stream_and_is_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """If a dead letter can't be written each call raises; once it can be, the stream continues."""
    notes, home = Notes(), tmp_path / "home"
    home.mkdir()
    chosen = policy("dead_letter", home / "letters", notes)
    home.rename(tmp_path / "away")
    for _ in range(2):
        with pytest.raises(DeadLetterFailed, match=r"t-0 offset 5.*No such file"):
            chosen.handle(poison())
    assert [type(event) for event in notes.events] == [ErrorSeen, ErrorSeen]
    (tmp_path / "away").rename(home)
    with caplog.at_level(logging.ERROR):
        chosen.handle(poison())
    assert [line["offset"] for line in dead_letters(home / "letters")] == [5]


def test_a_full_disk_is_an_error_and_the_next_line_is_whole(tmp_path: Path) -> None:
    """A full disk leaves half a line, and the next dead letter is a line of its own."""
    path = tmp_path / "letters"
    file = dead_letter_file(path)
    file.write(poison(1))
    with resource_limit("RLIMIT_FSIZE", path.stat().st_size + 50):
        with pytest.raises(DeadLetterFailed, match="only 50 of"):
            file.write(poison(2))
        with pytest.raises(DeadLetterFailed, match="File too large"):
            file.write(poison(2))
    file.write(poison(2))
    first, broken, last = path.read_text().splitlines()
    assert json.loads(first)["offset"] == 1
    assert len(broken) == 50
    assert json.loads(last)["offset"] == 2
