"""A real schema registry on loopback: Apicurio, which speaks Confluent's protocol, in memory.

Version 2.6, the last one for Java 17. It is downloaded once (140 MB), like the sandbox's jars.
"""

import os
import re
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.support.waiting import wait_until
from zkconsumer.sandbox import maven
from zkconsumer.sandbox.jars import JarCache, cache_folder
from zkconsumer.sandbox.lockfile import Jar, PinnedJar

_LISTENING: Final = re.compile(rb"Listening on: (http://[0-9.]+:[0-9]+)")
_PROTOCOL: Final = "/apis/ccompat/v7"
_STARTED_S: Final = 300


@dataclass(frozen=True, slots=True)
class _Archive(Jar):
    """The distribution's archive, which has the application's Maven coordinate."""

    @property
    def file_name(self) -> str:
        """See ``Jar``."""
        return f"{self.artifact}-{self.version}-all.tar.gz"


_PINNED: Final = PinnedJar(
    _Archive("io.apicurio", "apicurio-registry-app", "2.6.13.Final"),
    "3cda1b34aa020fb4ac4dd6a66018d757e81e437f97e20a1f92d366b70091c6ba",
)


def _fetch(jar: Jar, into: Path) -> Path:
    from jgo.maven import MavenContext  # noqa: PLC0415 - only if it is not in the cache yet

    repository = maven.configured_repository()
    remote = None if repository is None else {"central": repository}
    context = MavenContext(repo_cache=into, local_repos=[], remote_repos=remote)
    component = context.project(jar.group, jar.artifact).at_version(jar.version)
    archive: Path = component.artifact(classifier="all", packaging="tar.gz").resolve()
    return archive


@contextmanager
def apicurio_server(folder: Path) -> Iterator[str]:
    """Run an empty registry during the context; yield its URL.

    Args:
        folder: for its files.
    """
    cache = JarCache(cache_folder(os.environ, Path.home()), _fetch)
    with tarfile.open(cache.class_path((_PINNED,))[0]) as archive:
        archive.extractall(folder / "apicurio", filter="data")
    log = folder / "apicurio.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [
                *("java", "-Xmx400m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
                *("-Dquarkus.http.host=127.0.0.1", "-Dquarkus.http.port=0"),
                *("-cp", "*:lib/*", "io.quarkus.runner.GeneratedMain"),
            ],
            cwd=folder / "apicurio",
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        wait_until(
            lambda: _LISTENING.search(log.read_bytes()) or process.poll() is not None,
            timeout_s=_STARTED_S,
            what=f"the registry to be there; see {log}",
        )
        listening = _LISTENING.search(log.read_bytes())
        assert listening is not None, log.read_text(errors="replace")
        yield listening[1].decode() + _PROTOCOL
    finally:
        process.kill()
        process.wait()
