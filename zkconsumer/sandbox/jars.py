"""Caches pinned jars, and returns the class path of a version.

A jar gets its final name after its checksum was verified, so files in the cache are complete, also
with concurrent downloads.
"""

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import resources
from pathlib import Path

from zkconsumer.errors import SandboxError
from zkconsumer.sandbox import maven
from zkconsumer.sandbox.lockfile import Jar, JarLock, PinnedJar, parse_lock

LOCK_FILE = "jars.lock.json"

_TEMPORARY = ".download-"

Fetch = Callable[[Jar, Path], Path]
"""Downloads a jar into a folder and returns the file."""


def cache_folder(environ: Mapping[str, str], home: Path) -> Path:
    """Return the folder of jars: ``$XDG_CACHE_HOME/zkconsumer/jars`` or in ``~/.cache``."""
    base = environ.get("XDG_CACHE_HOME", "")
    # By the XDG rules a relative path counts as unset.
    root = Path(base) if os.path.isabs(base) else home / ".cache"
    return root / "zkconsumer" / "jars"


def shipped_lock() -> JarLock:
    """Return the lock file of this package."""
    return parse_lock(resources.files(__package__).joinpath(LOCK_FILE).read_text("utf-8"))


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in lower-case hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class JarCache:
    """A folder of jars named by coordinate, filled on demand.

    Args:
        folder: created when the first jar is downloaded.
        fetch: downloads a missing jar.
    """

    def __init__(self, folder: Path, fetch: Fetch) -> None:
        self._folder = folder
        self._fetch = fetch

    def class_path(self, jars: tuple[PinnedJar, ...]) -> list[Path]:
        """Return the files of the jars, in order; missing ones are downloaded first.

        Raises:
            SandboxError: a jar can't be downloaded, or its checksum is wrong.
        """
        if self.missing(jars):
            with self._locked():
                for jar in jars:
                    if not self._path(jar.jar).exists():  # another process may have been faster
                        self._download(jar)
        return [self._path(jar.jar) for jar in jars]

    def missing(self, jars: tuple[PinnedJar, ...]) -> int:
        """Return the number of jars that would have to be downloaded."""
        return sum(not self._path(jar.jar).exists() for jar in jars)

    def _path(self, jar: Jar) -> Path:
        return self._folder / jar.group / jar.file_name

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Let one process download at a time; the others then use its jars from the cache."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with (self._folder / ".lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                for left in self._folder.glob(f"{_TEMPORARY}*"):  # left by a killed process
                    shutil.rmtree(left, ignore_errors=True)
                yield
        except OSError as error:
            raise SandboxError(f"can't write the jar cache {self._folder}: {error}") from error

    def _download(self, pinned: PinnedJar) -> None:
        path = self._path(pinned.jar)
        with tempfile.TemporaryDirectory(dir=self._folder, prefix=_TEMPORARY) as temporary:
            file = self._fetch(pinned.jar, Path(temporary))
            found = sha256_of(file)
            if found != pinned.sha256:
                raise SandboxError(
                    f"{pinned.jar.coordinate} has the wrong checksum: SHA-256 is {found}, "
                    f"{pinned.sha256} is pinned; it was thrown away"
                )
            path.parent.mkdir(exist_ok=True)
            file.replace(path)


def user_cache() -> JarCache:
    """This user's cache, filled from the repository that the user configured."""

    def fetch(jar: Jar, into: Path) -> Path:
        return maven.fetch(jar, into, maven.configured_repository())

    return JarCache(cache_folder(os.environ, Path.home()), fetch)


def class_path(name: str) -> list[Path]:
    """Return a class path of the lock file, from this user's cache; download missing jars first.

    Args:
        name: a Kafka version, or another name in the lock file.

    Raises:
        SandboxError: a jar can't be downloaded, or its checksum is wrong.
    """
    return user_cache().class_path(shipped_lock()[name])


def missing_jars(kafka: str) -> int:
    """Return the number of a Kafka version's jars that ``class_path`` would download."""
    return user_cache().missing(shipped_lock()[kafka])
