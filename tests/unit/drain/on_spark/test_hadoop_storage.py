"""A drain in Spark's file systems when the JVM has died, tested without a JVM."""

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
    """A JVM that creates one path and is then killed."""

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
        """Return the path as Java does."""
        return "file:/lake"


class _Bucket(_DyingGateway):
    """A JVM with a bucket, in which writing is interrupted.

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
        """Accept any path."""
        return self

    def getScheme(self) -> str:  # noqa: N802 - Java's
        """Return the scheme, as Hadoop does."""
        return self._scheme

    def exists(self, *_: object) -> bool:
        """Return whether there are objects."""
        return bool(self._names)

    def listStatus(self, *_: object) -> Sequence[Any]:  # noqa: N802 - Java's
        """Return a list, which py4j does not pass where Java expects an array of Hadoop's class."""
        paths = [SimpleNamespace(getName=lambda name=name: name) for name in self._names]
        return [
            SimpleNamespace(getPath=lambda path=path: path, isFile=lambda: True) for path in paths
        ]

    def stat2Paths(self, statuses: object) -> object:  # noqa: N802 - Java's
        """Fail, as py4j does for the list of ``listStatus``."""
        raise Py4JError(f"An error occurred. Trace:\npy4j.X: no stat2Paths({statuses})\n\tat y")

    def write(self, *_: object) -> None:
        """Raise what a second Ctrl-C does."""
        raise KeyboardInterrupt

    def close(self) -> None:
        """Finish the object."""
        self.is_closed = True


def storage_of(gateway: _DyingGateway, configuration: Callable[[], object]) -> HadoopStorage:
    """Build the storage of a session with this JVM."""
    jsc = SimpleNamespace(hadoopConfiguration=configuration)
    context = SimpleNamespace(_jvm=gateway, _gateway=gateway, _jsc=jsc)
    return HadoopStorage(cast("SparkSession", SimpleNamespace(sparkContext=context)), "/lake")


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_jvm_that_is_gone_is_named(call: Callable[[HadoopStorage], object]) -> None:
    """The error names the drain's path and advises a restart, at whatever call the JVM dies."""
    storage = storage_of(_DyingGateway(), object)
    with pytest.raises(DrainError, match=r"/lake, at 'a': Spark's JVM is gone .*start again"):
        call(storage)


def test_names_in_a_bucket_are_listed() -> None:
    """A drain starts by listing names."""
    storage = storage_of(_Bucket(["1.json", "2.json"]), object)
    assert storage.names("plans") == ["1.json", "2.json"]


def test_an_interrupted_object_is_not_stored() -> None:
    """An empty plan or manifest would block every later run."""
    bucket = _Bucket()
    storage = storage_of(bucket, object)
    with pytest.raises(KeyboardInterrupt):
        storage.create("a", b"1")
    assert not bucket.is_closed


@pytest.mark.parametrize("scheme", ["file", "hdfs"])
def test_an_interrupted_file_is_closed(scheme: str) -> None:
    """It has a temporary name; unclosed, the name node would hold its lease for an hour."""
    bucket = _Bucket(scheme=scheme)
    storage = storage_of(bucket, object)
    with pytest.raises(KeyboardInterrupt):
        storage.create("a", b"1")
    assert bucket.is_closed


@pytest.mark.parametrize(
    ("error", "reported"),
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
def test_only_a_dead_jvm_is_reported_as_gone(error: Exception, reported: str) -> None:
    """A JVM that lacks a method would not be repaired by a restart."""

    def fail() -> object:
        raise error

    with pytest.raises(DrainError, match=rf"^/lake, at '/lake': {reported}"):
        storage_of(_DyingGateway(), fail)
