"""Reads how a shared object was hardened out of its ELF: hardening.py [--stripped] FILE.

It says what is missing, and fails if anything is: full RELRO, a stack that can't be executed, stack
protectors, fortified calls; with --stripped, that no symbols and no debugging sections are left.
It needs Python alone. For 64-bit little-endian files, which is what wheels are built for.
"""

import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

RELRO, STACK = 0x6474E552, 0x6474E551
EXECUTABLE = 1
DYNAMIC, STRINGS = ".dynamic", ".dynstr"
FLAGS, FLAGS_1, TEXTREL = 30, 0x6FFFFFFB, 22
BIND_NOW, NOW = 8, 1


class Section(NamedTuple):
    """A section: its name, and the bytes in it."""

    name: str
    data: bytes


def main(words: list[str]) -> int:
    """Say what is missing."""
    is_stripped = "--stripped" in words
    [file] = [word for word in words if not word.startswith("--")]
    found = list(missing(Path(file).read_bytes(), is_stripped=is_stripped))
    for one in found:
        sys.stderr.write(f"{file}: {one}\n")
    return 1 if found else 0


def missing(elf: bytes, *, is_stripped: bool) -> Iterator[str]:
    """Tell what a shared object lacks.

    Args:
        elf: the whole file.
        is_stripped: whether it should be.

    Raises:
        ValueError: not a 64-bit little-endian ELF file.
    """
    if elf[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a 64-bit little-endian ELF file")
    segments = dict(_segments(elf))
    sections = {one.name: one.data for one in _sections(elf)}
    dynamic = dict(struct.iter_unpack("<QQ", sections[DYNAMIC]))
    names = sections[STRINGS].split(b"\0")
    if RELRO not in segments:
        yield "no RELRO"
    if not (dynamic.get(FLAGS, 0) & BIND_NOW or dynamic.get(FLAGS_1, 0) & NOW):
        yield "RELRO is not full: symbols are bound late"
    if segments.get(STACK, EXECUTABLE) & EXECUTABLE:
        yield "its stack may be executed"
    if TEXTREL in dynamic:
        yield "its code is relocated"
    if b"__stack_chk_fail" not in names:
        yield "no stack protector"
    if not any(name.endswith(b"_chk") for name in names):
        yield "no fortified calls"
    if is_stripped and (left := [name for name in sections if _is_for_debugging(name)]):
        yield f"not stripped: {', '.join(left)}"


def _is_for_debugging(name: str) -> bool:
    return name == ".symtab" or name.startswith(".debug")


def _segments(elf: bytes) -> Iterator[tuple[int, int]]:
    """Kind and flags of each segment."""
    [start] = struct.unpack_from("<Q", elf, 32)
    size, count = struct.unpack_from("<HH", elf, 54)
    for number in range(count):
        yield struct.unpack_from("<II", elf, start + number * size)


def _sections(elf: bytes) -> Iterator[Section]:
    [start] = struct.unpack_from("<Q", elf, 40)
    size, count, names = struct.unpack_from("<HHH", elf, 58)
    heads = [struct.unpack_from("<II16xQQ", elf, start + number * size) for number in range(count)]
    texts = elf[heads[names][2] : heads[names][2] + heads[names][3]]
    for name, kind, at, length in heads:
        is_empty = kind == 8  # it takes no place in the file
        data = b"" if is_empty else elf[at : at + length]
        yield Section(texts[name : texts.index(b"\0", name)].decode(), data)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
