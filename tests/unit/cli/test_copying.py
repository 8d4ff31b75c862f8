from collections.abc import Iterator

import pytest

from tests.support.interrupting import Interrupted
from tests.unit.cli.test_format import Printed
from zkconsumer.cli.consume.copying import Copier, CurrentMessage
from zkconsumer.cli.consume.format import TextFormat


def messages(count: int, *, then: BaseException | None = None) -> Iterator[Printed]:
    """So many messages, and then an end or an error."""
    for number in range(count):
        yield Printed(raw_value=b"%d" % number, offset=number)
    if then is not None:
        raise then


class TornOutput:
    """What was written; tears where told to."""

    def __init__(self, tears_at: int | None = None) -> None:
        self.lines: list[bytes] = []
        self._tears_at = tears_at

    def write(self, line: bytes) -> None:
        if len(self.lines) == self._tears_at:
            raise Interrupted
        self.lines.append(line)


def test_everything_is_copied_until_the_stream_ends() -> None:
    """An ended stream leaves nothing in hand but a question."""
    paper = TornOutput()
    copier = Copier(TextFormat(), paper.write)
    copier.copy(messages(3))
    assert paper.lines == [b"0\n", b"1\n", b"2\n"]
    assert (copier.count, copier.cursor) == (3, CurrentMessage.ASKING)


def test_the_wanted_count_is_copied_and_no_further_message_asked_for() -> None:
    """What is asked for would be handed over, and so be committed unprinted."""
    paper = TornOutput()
    copier = Copier(TextFormat(), paper.write)
    source = messages(3)
    copier.copy(source, limit=2)
    assert paper.lines == [b"0\n", b"1\n"]
    assert copier.cursor is CurrentMessage.WRITTEN
    assert next(source).offset == 2


def test_of_no_messages_nothing_is_asked() -> None:
    """A limit of zero is met at once."""
    copier = Copier(TextFormat(), TornOutput().write)
    copier.copy(messages(0, then=Interrupted()), limit=0)
    assert (copier.count, copier.cursor) == (0, CurrentMessage.WRITTEN)


def test_a_message_that_could_not_be_written_stays_in_hand() -> None:
    """It must not be committed: nobody has seen it."""
    paper = TornOutput(tears_at=1)
    copier = Copier(TextFormat(), paper.write)
    with pytest.raises(Interrupted):
        copier.copy(messages(3))
    assert paper.lines == [b"0\n"]
    assert (copier.count, copier.cursor) == (1, CurrentMessage.HOLDING)


def test_an_interruption_while_asking_shows_that_a_message_may_be_under_way() -> None:
    """The stream may have counted it as handed over already."""
    copier = Copier(TextFormat(), TornOutput().write)
    with pytest.raises(Interrupted):
        copier.copy(messages(2, then=Interrupted()))
    assert (copier.count, copier.cursor) == (2, CurrentMessage.ASKING)
