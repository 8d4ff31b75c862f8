"""Arrow batches of the native core don't import pandas, which would take a third of a second."""

import subprocess
import sys

import pytest

from zkconsumer.records.engine import ENGINE, Engine

PROGRAM = """
import sys
from tests.support.chunks import native_records
from zkconsumer.model import Record, TopicPartition
from zkconsumer.records.build import build_message_set
from zkconsumer.streams import arrow, polled_batches
from zkconsumer.streams.arrow_columns import assemble, no_rows

runs = native_records(build_message_set([Record(7, b"k", b"v")], magic=0), 7)
batch = assemble(arrow.SCHEMA, [(TopicPartition("tø", 3), arrow._Peeked(runs.runs))])
assert batch.column("topic").to_pylist() == ["tø"], batch
assert batch.column("partition").to_pylist() == [3], batch
assert no_rows(polled_batches.SCHEMA).num_rows == 0
assert polled_batches.batch_of({}).num_rows == 0
print(*sorted(name for name in sys.modules if name == "pandas"))
"""


@pytest.mark.skipif(ENGINE is not Engine.NATIVE, reason="the pure engine has rows, not runs")
def test_the_first_batch_does_not_import_pandas() -> None:
    """It does not even if pandas is installed, as it is here."""
    pytest.importorskip("pandas")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("\n", "")
