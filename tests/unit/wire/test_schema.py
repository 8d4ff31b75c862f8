"""Messages described as data: a later version is an annotation on a field."""

from typing import Annotated, Any

import pytest

from zkconsumer.wire.fault import Fault
from zkconsumer.wire.reader import reader_of
from zkconsumer.wire.schema import (
    ApiMessage,
    Array,
    FixedInt,
    Int32,
    Int64,
    LenientString,
    NullableString,
    Since,
    String,
    Struct,
    Until,
    fields_of,
)
from zkconsumer.wire.tagged import Pieces
from zkconsumer.wire.writer import writer_of


class Part(ApiMessage):
    """An element that had a time in version 1 only."""

    number: Int32
    time: Annotated[Int64, Since(1), Until(1)] = -1


class GrowingMessage(ApiMessage):
    """A message that changed at its front, inside, and at its end."""

    throttle: Annotated[Int32, Since(1)] = 0
    name: String
    parts: tuple[Part, ...]
    note: Annotated[NullableString, Since(2)] = None


class NoDefault(ApiMessage):
    """A message whose later field lacks the default that older versions need."""

    late: Annotated[Int32, Since(1)]


class NoType(ApiMessage):
    """A message with a field whose wire type is missing."""

    bare: int


class Lenient(ApiMessage):
    """A message with text that peers send as null."""

    text: LenientString


def write(message: ApiMessage, version: int) -> bytes:
    """Encode a message without any header."""
    pieces: Pieces = []
    writer_of(type(message), version)(message, pieces)
    return b"".join(pieces)


def test_a_message_is_made_of_its_fields() -> None:
    """The error names those that are missing, and those that there are none of."""
    wrong: dict[str, Any]
    for wrong, named in (({"number": 7, "tame": 9}, "tame"), ({}, "number")):
        with pytest.raises(TypeError, match=rf"Part: missing or unknown fields: {named}$"):
            Part(**wrong)


def test_each_version_has_its_own_bytes() -> None:
    """Fields are encoded in the order of their declaration, in the versions that have them."""
    old = GrowingMessage(name="n", parts=(Part(number=7),))
    assert write(old, 0).hex(" ", 4) == bytes.fromhex("00016e 00000001 00000007").hex(" ", 4)
    middle = GrowingMessage(name="n", parts=(Part(number=7, time=9),), throttle=5)
    assert write(middle, 1) == bytes.fromhex("00000005 00016e 00000001 00000007 0000000000000009")
    new = GrowingMessage(name="n", parts=(Part(number=7),), throttle=5, note="x")
    assert write(new, 2) == bytes.fromhex("00000005 00016e 00000001 00000007 000178")
    for message, version in ((old, 0), (middle, 1), (new, 2)):
        data = write(message, version)
        assert reader_of(GrowingMessage, version)(memoryview(data), 0) == (message, len(data))


@pytest.mark.parametrize(
    ("message", "version", "path"),
    [
        (GrowingMessage(name="n", parts=(), throttle=5), 0, "throttle"),
        (GrowingMessage(name="n", parts=(), note="x"), 1, "note"),
        (
            GrowingMessage(name="n", parts=(Part(number=1), Part(number=2, time=3))),
            2,
            "parts[1].time",
        ),
    ],
)
def test_values_that_a_version_can_not_carry_are_refused(
    message: GrowingMessage, version: int, path: str
) -> None:
    """A value for a field that the version lacks is refused, not dropped."""
    with pytest.raises(Fault, match=f"version {version} does not have it") as caught:
        write(message, version)
    assert caught.value.path == path


def test_fields_know_their_types() -> None:
    """Wire types, versions and nesting are read from the annotations."""
    parts = {field.name: field for field in fields_of(GrowingMessage)}
    assert (parts["throttle"].type, parts["throttle"].since) == (FixedInt("i"), 1)
    assert parts["parts"].type == Array(Struct(Part))
    assert fields_of(Part)[1].until == 1


@pytest.mark.parametrize(
    ("message", "complaint"),
    [
        (NoDefault, r"NoDefault.late: versions without it need its default"),
        (NoType, r"NoType.bare: <class 'int'> says nothing about its bytes"),
    ],
)
def test_incomplete_descriptions_are_refused(message: type[Any], complaint: str) -> None:
    """A field without a wire type, or without the default it needs, is refused when compiled."""
    with pytest.raises(TypeError, match=complaint):
        fields_of(message)


def test_lenient_text_reads_null_as_empty() -> None:
    """A lenient text reads null as empty, where real peers send null."""
    assert reader_of(Lenient, 0)(memoryview(b"\xff\xff"), 0) == (Lenient(text=""), 2)
