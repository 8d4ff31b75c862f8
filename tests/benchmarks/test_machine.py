"""CPU times and memory of processes, programs that are run, and the sets that fill topics."""

import os
import subprocess
import sys
import time

import pytest

from tests.benchmarks import machine
from tests.benchmarks.processes import ClientFailed, Companion, run
from tests.benchmarks.topics import TopicSpec, set_sizes
from tests.support.waiting import wait_until
from zkconsumer.records.codecs import Codec

BURN = "import time\nwhile time.process_time() < 0.3: pass\n"


def test_work_of_ours_is_not_foreign() -> None:
    """CPU time of this process, and of a child that has ended, is ours."""
    before = machine.load_now(None)
    began = time.process_time()
    while time.process_time() < began + 0.3:
        pass
    subprocess.run([sys.executable, "-c", BURN], check=True)
    load = machine.load_now(None) - before
    assert 0.5 < load.ours < 5
    assert load.busy >= load.ours - 0.1


def test_a_child_is_found_by_a_word_on_its_command_line() -> None:
    """It is found as long as it runs, with its CPU time and peak memory."""
    argv = [sys.executable, "-c", BURN + "input()", "the.Main"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE) as child:
        wait_until(
            lambda: machine.find_descendant(os.getpid(), "the.Main") == child.pid, what="the child"
        )
        wait_until(lambda: machine.load_now(child.pid).broker > 0.2, what="its work")
        assert machine.peak_kb(child.pid) > 1000
        child.kill()
    assert machine.find_descendant(os.getpid(), "the.Main") is None
    assert machine.peak_kb(child.pid) == 0


def test_a_run_tells_what_its_process_used() -> None:
    """CPU time, peak memory and output are returned."""
    ended = run([sys.executable, "-c", BURN + "print('done')"])
    assert ended.output == "done\n"
    assert 0.2 < ended.cpu_seconds < 3
    assert ended.peak_kb > 1000


@pytest.mark.parametrize(
    ("code", "complaint"),
    [("raise ValueError('so it is')", "ValueError: so it is"), ("import sys; sys.exit(3)", "3")],
)
def test_a_run_that_fails_says_why(code: str, complaint: str) -> None:
    """The error has the last line of its output, or its status."""
    with pytest.raises(ClientFailed, match=complaint):
        run([sys.executable, "-c", code])


def test_a_run_does_not_last_for_ever() -> None:
    """It is killed after its time limit."""
    with pytest.raises(ClientFailed, match="still ran"):
        run([sys.executable, "-c", "import threading; threading.Event().wait()"], timeout_s=0.2)


def test_a_companion_answers_line_by_line() -> None:
    """A line that is not JSON is an error."""
    code = "while True: print('{\"got\": %s}' % input(), flush=True)"
    companion = Companion([sys.executable, "-c", code])
    try:
        for number in (1, 2):
            companion.request(str(number))
            assert companion.receive() == {"got": number}
        companion.request("what")
        with pytest.raises(ClientFailed):
            companion.receive()
    finally:
        companion.close()


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
@pytest.mark.parametrize("value_bytes", [10, 100, 10_000])
@pytest.mark.parametrize("records", [3, 1_000, 999_999])
def test_sets_make_up_a_partition(codec: Codec, value_bytes: int, records: int) -> None:
    """All but the last one have equally many records; none is larger than a broker accepts."""
    spec = TopicSpec(value_bytes=value_bytes, codec=codec, partitions=3, records=3 * records)
    sizes = set_sizes(spec)
    assert sum(sizes) == records
    assert len(set(sizes[:-1])) <= 1
    assert sizes[-1] <= sizes[0]
    assert max(sizes) * (value_bytes + 26) < 1_000_000
