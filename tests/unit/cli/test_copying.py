from collections.abc import Iterator

import pytest

from tests.support.interrupting import Interrupted
from tests.unit.cli.test_format import message_of
from zkconsumer.cli.consume.copying import Copier, CurrentMessage
from zkconsumer.cli.consume.format import Message, TextFormat


def messages(count: int, *, then: BaseException | None = None) -> Iterator[Message]:
    """Yield ``count`` messages and then end, or raise an error."""
    for number in range(count):
        yield message_of(raw_value=b"%d" % number, offset=number)
    if then is not None:
        raise then


class InterruptedOutput:
    """An output that records its lines and is interrupted at one of them."""

    def __init__(self, interrupted_at: int | None = None) -> None:
        self.lines: list[bytes] = []
        self._interrupted_at = interrupted_at

    def write(self, line: bytes) -> None:
        if len(self.lines) == self._interrupted_at:
            raise Interrupted
        self.lines.append(line)


def test_everything_is_copied_until_the_stream_ends() -> None:
    """After the last message the copier was waiting for another one."""
    output = InterruptedOutput()
    copier = Copier(TextFormat(), output.write)
    copier.copy(messages(3))
    assert output.lines == [b"0\n", b"1\n", b"2\n"]
    assert (copier.count, copier.cursor) == (3, CurrentMessage.ASKING)


def test_the_limit_is_copied_and_no_further_message_requested() -> None:
    """A message that is requested counts as consumed, and would be committed unprinted."""
    output = InterruptedOutput()
    copier = Copier(TextFormat(), output.write)
    source = messages(3)
    copier.copy(source, limit=2)
    assert output.lines == [b"0\n", b"1\n"]
    assert copier.cursor is CurrentMessage.WRITTEN
    assert next(source).offset == 2


def test_with_a_limit_of_zero_nothing_is_requested() -> None:
    """A limit of zero is reached at once."""
    copier = Copier(TextFormat(), InterruptedOutput().write)
    copier.copy(messages(0, then=Interrupted()), limit=0)
    assert (copier.count, copier.cursor) == (0, CurrentMessage.WRITTEN)


def test_a_message_that_could_not_be_written_is_not_consumed() -> None:
    """It must not be committed, since nobody has seen it."""
    output = InterruptedOutput(interrupted_at=1)
    copier = Copier(TextFormat(), output.write)
    with pytest.raises(Interrupted):
        copier.copy(messages(3))
    assert output.lines == [b"0\n"]
    assert (copier.count, copier.cursor) == (1, CurrentMessage.HOLDING)


def test_an_interruption_of_a_request_leaves_the_last_message_uncertain() -> None:
    """The stream may already have counted the next message as delivered."""
    copier = Copier(TextFormat(), InterruptedOutput().write)
    with pytest.raises(Interrupted):
        copier.copy(messages(2, then=Interrupted()))
    assert (copier.count, copier.cursor) == (2, CurrentMessage.ASKING)
