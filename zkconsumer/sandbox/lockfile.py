"""The shipped list of pinned jars: the jars of each version, with their checksums.

Pure: text in, values out. ``scripts.lock_jars`` writes the file.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

from zkconsumer.errors import SandboxError

FORMAT = 1
_HEX = frozenset("0123456789abcdef")


@dataclass(frozen=True, slots=True, order=True)
class Jar:
    """One jar by its Maven coordinate."""

    group: str
    artifact: str
    version: str

    @property
    def coordinate(self) -> str:
        """The Maven coordinate of the jar, ``group:artifact:version``."""
        return f"{self.group}:{self.artifact}:{self.version}"

    @property
    def file_name(self) -> str:
        """The name of the jar in a repository and in the cache."""
        return f"{self.artifact}-{self.version}.jar"

    @classmethod
    def parse(cls, coordinate: str) -> "Jar":
        """Parse ``group:artifact:version``.

        Raises:
            SandboxError: the text has another form, or a part that is not a plain name.
        """
        parts = coordinate.split(":")
        if len(parts) != 3 or not all(part and "/" not in part for part in parts):
            raise SandboxError(f"{coordinate!r} is not a Maven coordinate group:artifact:version")
        return cls(*parts)


@dataclass(frozen=True, slots=True)
class PinnedJar:
    """A jar, with its SHA-256 in lower-case hex."""

    jar: Jar
    sha256: str


class JarLock(dict[str, tuple[PinnedJar, ...]]):
    """The class paths of Kafka versions, of Spark's connector and of the KDC, in order.

    Raises:
        SandboxError: the requested name is unknown.
    """

    def __missing__(self, name: str) -> NoReturn:
        raise SandboxError(f"jars.lock.json has no jars for {name}")


def parse_lock(text: str) -> JarLock:
    """Parse the text of a lock file.

    Raises:
        SandboxError: it is not a lock file, or names a jar without a valid checksum.
    """
    try:
        content = json.loads(text)
    except ValueError as error:
        raise SandboxError(f"jars.lock.json is not JSON: {error}") from error
    match content:
        case {"format": 1, "sha256": dict() as sums, "versions": dict() as versions}:
            return JarLock(
                {
                    str(name): tuple(
                        _pinned(coordinate, sums) for coordinate in _strings(name, jars)
                    )
                    for name, jars in versions.items()
                }
            )
        case _:
            raise SandboxError(f"jars.lock.json is not a lock file of format {FORMAT}")


def _strings(name: object, jars: object) -> list[str]:
    if not isinstance(jars, list) or not all(isinstance(jar, str) for jar in jars):
        raise SandboxError(f"jars.lock.json: the jars of {name} are not a list of coordinates")
    return jars


def _pinned(coordinate: str, sums: Mapping[object, object]) -> PinnedJar:
    sha256 = sums.get(coordinate)
    if not isinstance(sha256, str) or len(sha256) != 64 or not _HEX.issuperset(sha256):
        raise SandboxError(f"jars.lock.json has no SHA-256 for {coordinate}")
    return PinnedJar(Jar.parse(coordinate), sha256)
