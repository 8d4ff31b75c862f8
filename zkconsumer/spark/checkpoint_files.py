"""Reads and writes a checkpoint through Spark's file manager, on any of its file systems.

Source: Spark ``CheckpointFileManager``: a file exists whole or not at all.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from py4j.java_gateway import JavaClass
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import SparkSession

from zkconsumer.errors import ConfigError

_PACKAGE = "org.apache.spark.sql.execution.streaming"
_HOMES = (f"{_PACKAGE}.checkpointing", _PACKAGE)
"""The first package is that of Spark 4.1 and later."""


class SparkCheckpointFiles:
    """Accesses the files of a checkpoint through Spark; see ``CheckpointFiles``.

    Args:
        session: the session whose JVM, settings and permissions are used.
        path: the checkpoint's folder, with a scheme, or on Spark's default file system.

    Raises:
        ConfigError: the file system is unknown.
    """

    def __init__(self, session: SparkSession, path: str) -> None:
        context = session.sparkContext
        # The gateway is neither typed nor public: only this class uses it.
        jvm: Any = context._jvm  # noqa: SLF001
        settings: Any = context._jsc.hadoopConfiguration()  # noqa: SLF001
        self._what = path
        with self._converted_errors():
            self._hadoop: Any = jvm.org.apache.hadoop.fs
            self._base: Any = self._hadoop.Path(path)
            self._manager: Any = _manager_class(jvm).create(self._base, settings)
            for folder in ("", "offsets", "commits"):
                self._manager.mkdirs(self._at(folder))

    def names(self, folder: str) -> Sequence[str]:
        """See ``CheckpointFiles``."""
        with self._converted_errors():
            return [status.getPath().getName() for status in self._manager.list(self._at(folder))]

    def read(self, path: str) -> bytes:
        """See ``CheckpointFiles``."""
        with self._converted_errors():
            stream = self._manager.open(self._at(path))
            try:
                return bytes(stream.readAllBytes())
            finally:
                stream.close()

    def create(self, path: str, data: bytes) -> bool:
        """See ``CheckpointFiles``."""
        at = self._at(path)
        with self._converted_errors():
            if self._manager.exists(at):
                return False
            stream = self._manager.createAtomic(at, False)  # noqa: FBT003 - Java's
            try:
                stream.write(bytearray(data))
                stream.close()
            except Py4JJavaError as error:
                stream.cancel()
                if "AlreadyExists" in error.java_exception.getClass().getName():
                    return False
                raise
        return True

    def delete(self, path: str) -> None:
        """See ``CheckpointFiles``."""
        with self._converted_errors():
            self._manager.delete(self._at(path))

    def _at(self, path: str) -> Any:
        return self._hadoop.Path(self._base, path) if path else self._base

    @contextmanager
    def _converted_errors(self) -> Iterator[None]:
        """Convert exceptions of Java and the gateway to ``ConfigError``."""
        try:
            yield
        except Py4JJavaError as error:
            message = error.java_exception.toString()
            raise ConfigError(f"checkpoint {self._what}: {message}") from error
        except (Py4JError, OSError) as error:
            raise ConfigError(f"checkpoint {self._what}: Spark's JVM: {error}") from error


def _manager_class(jvm: Any) -> Any:
    for home in _HOMES:
        found = jvm
        for name in (*home.split("."), "CheckpointFileManager$"):
            found = getattr(found, name)
        if isinstance(found, JavaClass):
            return getattr(found, "MODULE$")
    raise ConfigError("this Spark has no CheckpointFileManager: checkpoints can't be kept")
