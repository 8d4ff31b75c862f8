"""What a drain in Spark's file systems says when its JVM is gone, without one."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.sql import SparkSession

from zkconsumer.drain.on_spark.hadoop_storage import HadoopStorage
from zkconsumer.errors import DrainError

CALLS: dict[str, Callable[[HadoopStorage], object]] = {
    "read": lambda storage: storage.read("a"),
    "create": lambda storage: storage.create("a", b""),
    "names": lambda storage: storage.names("a"),
    "files": lambda storage: storage.files("a"),
    "move": lambda storage: storage.move("a", "b"),
    "delete": lambda storage: storage.delete("a"),
}


class _DyingGateway:
    """A JVM that makes one path, and is killed."""

    def __init__(self) -> None:
        self._is_there = True

    def __getattr__(self, _name: str) -> Any:
        return self

    def __call__(self, *_: object) -> Any:
        return self

    def Path(self, *_: object) -> Any:  # noqa: N802 - Java's
        """Refuse the connection, as the port of a dead process does."""
        if not self._is_there:
            raise ConnectionRefusedError(111, "Connection refused")
        self._is_there = False
        return self

    def toString(self) -> str:  # noqa: N802 - Java's
        """See Java's."""
        return "file:/lake"


class _Bucket(_DyingGateway):
    """A JVM with a bucket; somebody asks for the end while it is written to.

    Args:
        names: of the objects in each folder.
        scheme: of its paths.
    """

    def __init__(self, names: Sequence[str] = (), scheme: str = "s3a") -> None:
        super().__init__()
        self._names = names
        self._scheme = scheme
        self.is_closed = False

    def Path(self, *_: object) -> Any:  # noqa: N802 - Java's
        """Any path."""
        return self

    def getScheme(self) -> str:  # noqa: N802 - Java's
        """Hadoop's."""
        return self._scheme

    def exists(self, *_: object) -> bool:
        """See Hadoop's."""
        return bool(self._names)

    def listStatus(self, *_: object) -> Sequence[Any]:  # noqa: N802 - Java's
        """An array whose class is its own: py4j hands it to no method that wants Hadoop's."""
        paths = [SimpleNamespace(getName=lambda name=name: name) for name in self._names]
        return [
            SimpleNamespace(getPath=lambda path=path: path, isFile=lambda: True) for path in paths
        ]

    def stat2Paths(self, statuses: object) -> object:  # noqa: N802 - Java's
        """See above."""
        raise Py4JError(f"An error occurred. Trace:\npy4j.X: no stat2Paths({statuses})\n\tat y")

    def write(self, *_: object) -> None:
        """Raise what a second Ctrl-C does."""
        raise KeyboardInterrupt

    def close(self) -> None:
        """Put the object."""
        self.is_closed = True


def storage_of(gateway: _DyingGateway, configuration: Callable[[], object]) -> HadoopStorage:
    """Of a session with this JVM."""
    jsc = SimpleNamespace(hadoopConfiguration=configuration)
    context = SimpleNamespace(_jvm=gateway, _gateway=gateway, _jsc=jsc)
    return HadoopStorage(cast("SparkSession", SimpleNamespace(sparkContext=context)), "/lake")


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_jvm_that_is_gone_is_named(call: Callable[[HadoopStorage], object]) -> None:
    """With the drain's path and what to do, wherever in a call it dies."""
    storage = storage_of(_DyingGateway(), object)
    with pytest.raises(DrainError, match=r"/lake, at 'a': Spark's JVM is gone .*start again"):
        call(storage)


def test_names_in_a_bucket_are_listed() -> None:
    """A drain begins with that."""
    storage = storage_of(_Bucket(["1.json", "2.json"]), object)
    assert storage.names("plans") == ["1.json", "2.json"]


def test_an_object_that_was_cut_off_is_not_put() -> None:
    """An empty plan, or an empty manifest, would be in the way of every later run."""
    bucket = _Bucket()
    storage = storage_of(bucket, object)
    with pytest.raises(KeyboardInterrupt):
        storage.create("a", b"1")
    assert not bucket.is_closed


@pytest.mark.parametrize("scheme", ["file", "hdfs"])
def test_a_file_that_was_cut_off_is_closed(scheme: str) -> None:
    """It lies aside and goes; a name node would hold its lease for an hour."""
    bucket = _Bucket(scheme=scheme)
    storage = storage_of(bucket, object)
    with pytest.raises(KeyboardInterrupt):
        storage.create("a", b"1")
    assert bucket.is_closed


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ConnectionRefusedError(111, "Connection refused"), "Spark's JVM is gone .*start again"),
        (Py4JNetworkError("Answer from Java side is empty"), "Spark's JVM is gone .*start again"),
        (Py4JError("An error occurred while calling o1.opt"), "Spark's JVM is gone .*start again"),
        (
            Py4JError("An error occurred while calling o1.opt. Trace:\npy4j.X: no opt\n\tat y"),
            "py4j.X: no opt$",
        ),
    ],
)
def test_only_a_jvm_that_is_gone_is_said_to_be(error: Exception, told: str) -> None:
    """When the drain opens its path; one that lacks a method would not be mended by a start."""

    def fail() -> object:
        raise error

    with pytest.raises(DrainError, match=rf"^/lake, at '/lake': {told}"):
        storage_of(_DyingGateway(), fail)
