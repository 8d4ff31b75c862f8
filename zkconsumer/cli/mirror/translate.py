"""``zkconsumer mirror translate``: translates groups' offsets by a mirror's offsets file."""

import argparse
from collections.abc import Mapping

from zkconsumer.cli.exit_status import NOT_WELL
from zkconsumer.cli.files import read_text, write_output
from zkconsumer.cli.formats.offset_files import csv_text, parse_offset_file
from zkconsumer.cli.mirror.verify import add_offsets_file_argument
from zkconsumer.cli.output import note
from zkconsumer.errors import ConfigError, MirrorError
from zkconsumer.mirror.offsets_file import read_offsets_file
from zkconsumer.mirror.translation import GroupTranslation, translate
from zkconsumer.model import TopicPartition
from zkconsumer.printable import shortlist

DESCRIPTION = """\
Translate the offsets that groups have committed in the source (a file of 'zkconsumer offsets
export') to the offsets at which they continue in the target, for 'zkconsumer offsets import' there.
Nothing is skipped: a group continues at the first message that it had not read. It connects to no
cluster."""

EPILOG = """\
example, with the group's members stopped:
  zkconsumer offsets export --zookeeper zk1:2181/kafka --group billing --csv --output-file old.csv
  zkconsumer mirror translate --offsets-file orders.jsonl --input-file old.csv --group billing \\
      --output-file new.csv
  zkconsumer offsets import --bootstrap-server new1:9092 --storage kafka --group billing \\
      --input-file new.csv

exit status: 0 written; 1 a file can't be read or written, or no mirror has read what the group is
to read next; 2 wrong usage; 3 the mirror has not
copied yet what a group has read: nothing was written, try again in a moment."""

SUMMARY = "translate groups' offsets to the target, by the offsets file of a mirror"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_offsets_file_argument(parser)
    parser.add_argument(
        "--input-file", required=True, metavar="FILE", help="a file of 'offsets export'"
    )
    parser.add_argument("--group", metavar="GROUP", help="the group of lines that don't name one")
    parser.add_argument(
        "--output-file",
        required=True,
        metavar="FILE",
        help="the file to write; - is standard output",
    )


def run(args: argparse.Namespace) -> int:
    """Translate the offsets; return 3 if the mirror has not reached all of them yet."""
    groups = parse_offset_file(read_text(args.input_file), args.input_file, args.group)
    lines = [line for path in args.offsets_file for line in read_offsets_file(path)]
    found = {group_id: translate(offsets, lines) for group_id, offsets in groups.items()}
    waiting = {tp for translation in found.values() for tp in translation.not_yet}
    if waiting:
        note(f"not mirrored yet: {shortlist(map(format, waiting))}; nothing was written")
        return NOT_WELL
    for group_id, translation in found.items():
        _check_read(groups[group_id], translation, args.input_file)
    if not any(translation.offsets for translation in found.values()):
        raise ConfigError("the offsets file has no partitions of these groups")
    text = csv_text({name: moved.offsets for name, moved in found.items() if moved.offsets})
    write_output(args.output_file, text)
    without = {tp for translation in found.values() for tp in translation.without}
    if without:
        note(
            f"no offset for {shortlist(map(format, without))}, of which nothing was mirrored yet: "
            "new members start there by auto.offset.reset; earliest skips nothing"
        )
    return 0


def _check_read(
    committed: Mapping[TopicPartition, int], translation: GroupTranslation, input_file: str
) -> None:
    """Raise if messages that the group has not read may be missing in the target."""
    if not translation.unread:
        return
    unread = shortlist(
        f"{tp} from {committed[tp]} to {begin - 1}" for tp, begin in translation.unread.items()
    )
    raise MirrorError(
        f"no mirror of these offsets files has read what the group is to read next: {unread}; give "
        "the files of all mirrors, or, if the source no longer has messages there, put the "
        f"offset after them into {input_file}; nothing was written"
    )
