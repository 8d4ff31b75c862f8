"""Checks by their sizes that zstd frames are whole: the library does not report truncated input.

A frame is a magic, a header, blocks with headers of three bytes, and perhaps a checksum. Frames can
be concatenated; some are skippable.

Source: RFC 8878, 3.1.
"""

MAGIC = b"\x28\xb5\x2f\xfd"

_SKIPPABLE = 0x184D2A50
_SKIPPABLE_MASK = 0xFFFFFFF0
_ID_BYTES = (0, 1, 2, 4)
_CONTENT_SIZE_BYTES = (0, 2, 4, 8)
_RLE, _RESERVED = 1, 3


def check_whole(data: bytes) -> None:
    """Check that the data is one or more whole frames, and nothing else.

    Raises:
        ValueError: it is not.
    """
    position = _frame_end(data, 0)
    while position < len(data):
        position = _frame_end(data, position)


def _frame_end(data: bytes, position: int) -> int:
    if len(data) - position < 5:
        raise ValueError("cut off")
    if int.from_bytes(data[position : position + 4], "little") & _SKIPPABLE_MASK == _SKIPPABLE:
        size = int.from_bytes(data[position + 4 : position + 8], "little")
        return _within(data, position + 8 + size)
    if not data.startswith(MAGIC, position):
        raise ValueError("not a zstd frame")
    descriptor = data[position + 4]
    is_single = descriptor >> 5 & 1
    # A window's size, or, in a frame of a single segment, at least one byte of content size.
    position += 5 + (1 - is_single) + _ID_BYTES[descriptor & 3]
    position += _CONTENT_SIZE_BYTES[descriptor >> 6] or is_single
    is_last = 0
    while not is_last:
        head = int.from_bytes(data[position : position + 3], "little")
        is_last, kind, size = head & 1, head >> 1 & 3, head >> 3
        if kind == _RESERVED:
            raise ValueError("zstd block of an unknown type")
        position = _within(data, position + 3 + (1 if kind == _RLE else size))
    return _within(data, position + 4 * (descriptor >> 2 & 1))


def _within(data: bytes, position: int) -> int:
    if position > len(data):
        raise ValueError("cut off")
    return position
