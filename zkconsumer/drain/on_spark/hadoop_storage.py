"""Keeps a drain in any file system that Spark supports, through its JVM.

Source: Hadoop 3.4 ``FileSystem`` and ``FileContext``; Spark's ``CheckpointFileManager`` for atomic
    creation of files.
"""

import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path as FilePath
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import SparkSession

from zkconsumer.drain.file_lock import held_file
from zkconsumer.drain.on_spark.errors import reason_of
from zkconsumer.drain.storage import StoredFile, in_the_way, missing
from zkconsumer.errors import DrainError

_IN_ONE_PUT = frozenset({"s3a"})
"""Object stores, where a file appears when it is closed, and a rename copies it."""
_CONDITIONAL = "fs.option.create.conditional.overwrite"


class HadoopStorage:
    """Stores files in a Hadoop file system. See ``Storage``.

    Args:
        session: the session whose JVM, settings and permissions are used.
        path: a path with a scheme (``hdfs://``, ``s3a://``), or on Spark's default file system.

    Raises:
        DrainError: the file system is unknown, or the JVM has ended.
    """

    def __init__(self, session: SparkSession, path: str) -> None:
        context = session.sparkContext
        # The gateway is neither typed nor public: only this class uses it.
        jvm: Any = context._jvm  # noqa: SLF001
        self._jvm = jvm
        self._gateway: Any = context._gateway  # noqa: SLF001
        self._what = path
        with self._converted_errors(path):
            self._settings: Any = context._jsc.hadoopConfiguration()  # noqa: SLF001
            self._hadoop: Any = self._jvm.org.apache.hadoop.fs
            root = self._hadoop.Path(path)
            self._system = root.getFileSystem(self._settings)
            self._root = self._system.makeQualified(root)
            self._scheme = self._root.toUri().getScheme()
            self._base: str = self._root.toString().rstrip("/")

    def uri(self, path: str) -> str:
        """See ``Storage``."""
        return f"{self._base}/{path}" if path else self._base

    def read(self, path: str) -> bytes | None:
        """See ``Storage``."""
        at = self._at(path)
        with self._converted_errors(path):
            if not self._system.exists(at):
                return None
            stream = self._system.open(at)
            try:
                return bytes(stream.readAllBytes())
            finally:
                stream.close()

    def create(self, path: str, data: bytes) -> bool:
        """See ``Storage``."""
        at = self._at(path)
        with self._converted_errors(path):
            if self._scheme in _IN_ONE_PUT:
                return self._put(path, data)
            if self._system.exists(at):
                return False
            aside = self._hadoop.Path(at.getParent(), f".{at.getName()}.{uuid.uuid4().hex}.tmp")
            try:
                self._write(self._system.create(aside, True), data)  # noqa: FBT003 - Java's
                return self._rename_into_place(aside, at)
            finally:
                self._system.delete(aside, False)  # noqa: FBT003 - Java's

    def hold(self, path: str) -> AbstractContextManager[bool]:
        """See ``Storage``: only local files can be locked, on the driver's machine."""
        if self._scheme != "file":
            return nullcontext(enter_result=True)
        with self._converted_errors(path):
            return held_file(FilePath(self._at(path).toUri().getPath()))

    def names(self, folder: str) -> list[str]:
        """See ``Storage``."""
        at = self._at(folder)
        with self._converted_errors(folder):
            if not self._system.exists(at):
                return []
            found = self._system.listStatus(at)
            return [status.getPath().getName() for status in found if self._has_file(status)]

    def files(self, folder: str) -> list[StoredFile]:
        """See ``Storage``."""
        at = self._at(folder)
        found = []
        with self._converted_errors(folder):
            if not self._system.exists(at):
                return []
            prefix = len(at.toString()) + 1
            statuses = self._system.listFiles(at, True)  # noqa: FBT003 - Java's
            while statuses.hasNext():
                status = statuses.next()
                found.append(StoredFile(status.getPath().toString()[prefix:], status.getLen()))
        return sorted(found)

    def move(self, source: str, target: str) -> None:
        """See ``Storage``."""
        here, there = self._at(source), self._at(target)
        with self._converted_errors(source):
            if not self._system.exists(there):
                self._system.mkdirs(there.getParent())
                if self._system.exists(here) and self._system.rename(here, there):
                    return
            if not self._system.exists(there):
                raise missing(self.uri(source), self.uri(target))
            if self._system.exists(here):
                # A move that copies may have been interrupted before it deleted the source.
                if self._length(here) != self._length(there):
                    raise in_the_way(self.uri(source), self.uri(target))
                self._system.delete(here, False)  # noqa: FBT003 - Java's

    def delete(self, folder: str) -> None:
        """See ``Storage``."""
        with self._converted_errors(folder):
            self._system.delete(self._at(folder), True)  # noqa: FBT003 - Java's

    def _has_file(self, status: Any) -> bool:
        """Return whether an entry is more than a folder marker of an object store.

        The local engine can't delete such markers.
        """
        if self._scheme not in _IN_ONE_PUT or status.isFile():
            return True
        try:
            return bool(self._system.listFiles(status.getPath(), True).hasNext())  # noqa: FBT003 - Java's
        except Py4JJavaError as error:
            if _is(error, "FileNotFoundException"):
                return False
            raise

    def _put(self, path: str, data: bytes) -> bool:
        """Put an object if absent; from Hadoop 3.4.2 on, the store itself checks the condition.

        An earlier Hadoop ignores the option, and checks before it puts. There is no check of our
        own, so that ``BatchJournal.probe`` detects a store that ignores conditions.
        """
        at = self._at(path)
        creating = self._system.createFile(at).overwrite(False)  # noqa: FBT003 - Java's
        try:
            self._write(creating.opt(_CONDITIONAL, True).build(), data)  # noqa: FBT003 - Java's
        except Py4JJavaError:
            if self._system.exists(at):
                # An equal object is ours: it was created before, and only the response was lost.
                return bool(data) and self.read(path) == data
            raise
        return True

    def _rename_into_place(self, aside: Any, at: Any) -> bool:
        """Rename a complete file into place, unless the name is taken."""
        try:
            if self._scheme == "file" and self._link(aside, at):
                return True
            rename = self._hadoop.Options.Rename
            options = self._gateway.new_array(rename, 1)
            options[0] = rename.NONE
            files = self._hadoop.FileContext.getFileContext(self._root.toUri(), self._settings)
            files.rename(aside, at, options)
        except Py4JJavaError as error:
            if _is(error, "FileAlreadyExistsException"):
                return False
            raise
        return True

    def _link(self, aside: Any, at: Any) -> bool:
        """Link a file; return False if impossible. Unlike a local rename, it replaces no file."""
        source, target = (
            self._jvm.java.io.File(path.toUri().getPath()).toPath() for path in (aside, at)
        )
        try:
            self._jvm.java.nio.file.Files.createLink(target, source)
        except Py4JJavaError as error:
            if _is(error, "FileAlreadyExistsException"):
                raise
            return False
        return True

    def _write(self, stream: Any, data: bytes) -> None:
        is_whole = False
        try:
            stream.write(bytearray(data))
            is_whole = True
        finally:
            # Closing puts an object, however little was written to it.
            if is_whole or self._scheme not in _IN_ONE_PUT:
                stream.close()

    def _length(self, at: Any) -> int:
        length: int = self._system.getFileStatus(at).getLen()
        return length

    def _at(self, path: str) -> Any:
        with self._converted_errors(path):
            return self._hadoop.Path(self.uri(path))

    @contextmanager
    def _converted_errors(self, path: str) -> Iterator[None]:
        """Convert exceptions of Java and the gateway to ``DrainError``."""
        try:
            yield
        except Py4JJavaError as error:
            message = error.java_exception.toString()
            raise DrainError(f"{self._what}, at {path!r}: {message}") from error
        except (Py4JError, OSError) as error:
            raise DrainError(f"{self._what}, at {path!r}: {reason_of(error)}") from error


def _is(error: Py4JJavaError, name: str) -> bool:
    """Return whether a Java exception has a class name, in any package."""
    class_name: str = error.java_exception.getClass().getName()
    return class_name.rsplit(".", 1)[-1] == name
