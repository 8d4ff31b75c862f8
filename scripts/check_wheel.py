"""Checks an installed package as a user gets it: the native core is there and decodes.

Run it by an interpreter in whose environment a wheel was installed, outside of the checkout:
``python scripts/check_wheel.py``. It needs nothing that the package does not need.
"""

import sys
from pathlib import Path

import hardening

import zkconsumer
from zkconsumer.model import Record, TimestampType, TopicPartition
from zkconsumer.records.build import build_message_set
from zkconsumer.records.build_batch import build_batch
from zkconsumer.records.codecs import Codec
from zkconsumer.records.consumer_record import RecordOrigin
from zkconsumer.records.engine import ENGINE, WHY, Engine, decode_fetched

CODECS = (Codec.NONE, Codec.GZIP, Codec.SNAPPY)  # those that need no extra to be written


def main() -> int:
    """Say what is wrong, or what runs."""
    home = Path(zkconsumer.__file__).parent
    if home.parent == Path(__file__).resolve().parent.parent:
        return complain(f"this is the checkout, not what was installed: {home}")
    if ENGINE is not Engine.NATIVE:
        return complain(f"the native core does not run: {WHY}")
    from zkconsumer.native import _core  # noqa: PLC0415 - it is there

    missing = [name for name, version in _core.LIBRARIES.items() if not version]
    if missing:
        return complain(f"the core was built without {', '.join(missing)}")
    if soft := list(hardening.missing(Path(_core.__file__).read_bytes(), is_stripped=True)):
        return complain(f"the core is not hardened: {'; '.join(soft)}")
    if wrong := wrongly_decoded():
        return complain(wrong)
    version = ".".join(map(str, sys.version_info[:3]))
    sys.stdout.write(f"zkconsumer {zkconsumer.__version__} on Python {version}: {WHY}\n")
    return 0


def wrongly_decoded() -> str | None:
    """Decode a set of messages and a batch in each codec; return what does not come out right."""
    written = [
        Record(at, b"key", b"value %d" % at * 20, 1, TimestampType.CREATE_TIME)
        for at in range(1000)
    ]
    for codec in CODECS:
        message_set = build_message_set(written, magic=1, codec=codec)
        # Another checksum, and records of another format.
        batch = build_batch(written, codec=codec)
        for name, data in (("set of messages", message_set), ("batch", batch)):
            fetched = decode_fetched(data, fetch_offset=0, max_decompressed_bytes=1 << 20)
            given = fetched.take(len(written)).records(RecordOrigin(TopicPartition("t", 0)))
            if [(one.offset, one.key, one.value) for one in given] != [
                (one.offset, one.key, one.value) for one in written
            ]:
                return f"a {name} of {codec.name} does not come out as it went in"
    return None


def complain(text: str) -> int:
    """Say what is wrong."""
    sys.stderr.write(f"{text}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
