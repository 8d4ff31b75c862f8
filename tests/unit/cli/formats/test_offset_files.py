"""Offset files in both formats: written, read back, and the errors of malformed ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.cli.formats.offset_files import csv_text, offsets_of_group, parse_offset_file
from zkconsumer.cli.formats.zk_offsets import (
    export_text,
    parse_export,
    read_as_original,
)
from zkconsumer.errors import ConfigError
from zkconsumer.model import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
names = st.from_regex(r"[a-zA-Z0-9_-][a-zA-Z0-9._-]{0,8}", fullmatch=True)
partitions = st.builds(TopicPartition, names, st.integers(0, 2**31 - 1))
files = st.dictionaries(
    names,
    st.dictionaries(partitions, st.integers(0, 2**63 - 1), min_size=1, max_size=4),
    min_size=1,
    max_size=3,
)


@given(files)
def test_exported_offsets_are_imported_unchanged(
    offsets: dict[str, dict[TopicPartition, int]],
) -> None:
    """The original's format is read by our rules and by the original's; CSV is read as well."""
    text = export_text(offsets)
    assert parse_offset_file(text, "file") == offsets
    assert read_as_original(text, "file") == {
        f"/consumers/{group_id}/offsets/{tp.topic}/{tp.partition}": str(offset)
        for group_id, of_group in offsets.items()
        for tp, offset in of_group.items()
    }
    assert parse_offset_file(csv_text(offsets), "file", next(iter(offsets))) == offsets


def test_each_format_is_written_as_documented() -> None:
    """The original's format and CSV, which names the groups only if there are several."""
    nodes = export_text({"g": {T1: 4, T0: 3}})
    assert nodes == "/consumers/g/offsets/t/0:3\n/consumers/g/offsets/t/1:4\n"
    assert csv_text({"g": {T1: 4, T0: 3}}) == "t,0,3\nt,1,4\n"
    assert csv_text({"h": {T1: 4}, "g": {T0: 3}}) == "g,t,0,3\nh,t,1,4\n"


FORMULAS = ["=1+1", "+1", "-1", "@x", "\tx", "\r=x", "'=x", "''@x", "-"]


@pytest.mark.parametrize("group_id", [*FORMULAS, "'x", "it's", "x=1", "größe", "a,b"])
def test_no_cell_is_a_formula(group_id: str) -> None:
    """A spreadsheet sees names as text, which are read back unchanged; numbers stay numbers."""
    offsets = {group_id: {TopicPartition("-t", 0): 7}, "other": {T0: 3}}
    text = csv_text(offsets)
    cells = [cell.strip('"') for line in text.split("\n") for cell in line.split(",")]
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in cells)
    assert ",'-t,0,7\n" in text
    assert ",t,0,3\n" in text
    assert parse_offset_file(text, "file") == offsets


def test_files_of_others_may_hold_names_like_formulas() -> None:
    """Names that begin like formulas are accepted, but a negative offset is refused."""
    assert parse_offset_file("=g,-t,0,7\n", "file") == {"=g": {TopicPartition("-t", 0): 7}}
    with pytest.raises(ConfigError, match="-7"):
        parse_offset_file("g,t,0,-7\n", "file")


@pytest.mark.parametrize("line", ["/a", "/a:", "/a::", ":", "::"])
def test_lines_that_crash_the_original_are_refused(line: str) -> None:
    """Java's split drops empty fields at the end and keeps a first one, and so do we."""
    with pytest.raises(ConfigError, match="file:2"):
        read_as_original(f"/b:1\n{line}\n", "file")
    assert read_as_original(":1\n/c::2\r/d:2", "file") == {"": "1", "/c": "", "/d": "2"}


def test_a_group_with_a_slash_is_refused() -> None:
    """A slash in a group id would make the line name another node."""
    with pytest.raises(ConfigError, match=r"group\.id"):
        export_text({"a/b": {T0: 3}})


def test_csv_of_other_programs_is_read() -> None:
    """Quotes, blanks, a byte order mark, Windows line ends and empty lines are accepted."""
    text = '\ufeff"t", 0,3\r\n\r\n"t",1,"4"\r\n'
    assert parse_offset_file(text, "file", "g") == {"g": {T0: 3, T1: 4}}


def test_all_bad_lines_are_named() -> None:
    """The error names all bad lines and nothing is imported; a repeated equal offset is allowed."""
    text = (
        "/consumers/g/offsets/t/0:3\n"
        "/consumers/g/owners/t/0:3\n"
        "/consumers/g/offsets/t/0:4\n"
        "/consumers/g/offsets/t/0:3\n"
        "\n"
        "/consumers/g/offsets/t/1:-1\n"
        "/consumers/g/offsets/t/1: 1\n"
        "/consumers/g/offsets/t/4294967296:1\n"
        "/consumers/g/offsets/t u/1:1\n"
        "/consumers/../offsets/t/1:1\n"
    )
    found = parse_export(text)
    assert found.offsets == {"g": {T0: 3}}
    assert [bad.split(":")[0] for bad in found.bad] == [
        f"line {number}" for number in (2, 3, 6, 7, 8, 9, 10)
    ]
    with pytest.raises(ConfigError, match=r"line 2: .*line 8: .*and 2 more"):
        parse_offset_file(text, "file")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (" \n", "is empty"),
        ("t,0\n", "line 1: 't,0' is not"),
        ("t,0,1\n", "is not GROUP"),
        ("g,t,0,1\ng,t,0,2\n", "line 2: t-0 of group g is 1"),
        ("g,t,-1,1\n", "is not a partition"),
        ("g,t u,1,1\n", "is not a partition"),
        ("g,t,0,x\n", "'x' is not an offset"),
        ("g,t,0,-1\n", "-1 is not an offset"),
        ('g,t,0,"1\n', "line 1: unexpected end"),
    ],
)
def test_malformed_csv_is_refused(text: str, complaint: str) -> None:
    """The error names the line and what is wrong with it."""
    with pytest.raises(ConfigError, match=complaint):
        parse_offset_file(text, "file")


def test_offsets_of_one_group_are_selected() -> None:
    """A group is selected by its name, or as the file's only one if renaming is requested."""
    single = parse_offset_file("g,t,0,3\n", "file")
    assert offsets_of_group(single, "file", "g") == {T0: 3}
    assert offsets_of_group(single, "file", "h", rename=True) == {T0: 3}
    with pytest.raises(ConfigError, match="file has no offsets of group h, but of g"):
        offsets_of_group(single, "file", "h")
    several = parse_offset_file("g,t,0,3\nh,t,0,4\n", "file")
    assert offsets_of_group(several, "file", "h", rename=True) == {T0: 4}
    with pytest.raises(ConfigError, match="but of g, h"):
        offsets_of_group(several, "file", "i", rename=True)
