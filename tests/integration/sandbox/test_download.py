"""Jars come from the configured repository, or a one-line error has the reason."""

import functools
import hashlib
import http.server
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.lock_jars import make_lock
from zkconsumer.errors import SandboxError
from zkconsumer.sandbox import jars, maven
from zkconsumer.sandbox.jars import JarCache
from zkconsumer.sandbox.lockfile import Jar, PinnedJar
from zkconsumer.sandbox.ports import pick_free
from zkconsumer.sandbox.versions import KafkaVersion
from zkconsumer.scope import ThreadScope

JAR = Jar("org.example.group", "thing", "1.0")
CONTENT = b"bytes of a jar"


class QuietFolderServer(http.server.SimpleHTTPRequestHandler):
    """Serves a folder without logging to standard error."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the parent's name
        """Log nothing."""


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[str]:
    """Run a Maven repository on loopback with one jar; yield its URL."""
    folder = tmp_path / "repository" / "org" / "example" / "group" / "thing" / "1.0"
    folder.mkdir(parents=True)
    (folder / "thing-1.0.jar").write_bytes(CONTENT)
    handler = functools.partial(QuietFolderServer, directory=str(tmp_path / "repository"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    scope = ThreadScope("repository")
    scope.spawn("serve", lambda: server.serve_forever(0.02), stop=server.shutdown)
    yield f"http://127.0.0.1:{server.server_port}"
    assert scope.close(timeout_ms=10_000) == []
    server.server_close()


def cache(folder: Path, repository: str) -> JarCache:
    """Return a cache that is filled from the repository."""
    return JarCache(folder, lambda jar, into: maven.fetch(jar, into, repository))


def pinned(content: bytes) -> tuple[PinnedJar, ...]:
    """Return the jar, pinned to the checksum of these bytes."""
    return (PinnedJar(JAR, hashlib.sha256(content).hexdigest()),)


def test_a_pinned_jar_is_downloaded(repository: str, tmp_path: Path) -> None:
    """The cache has it under its coordinate, and has nothing else."""
    (path,) = cache(tmp_path / "cache", repository).class_path(pinned(CONTENT))
    assert path == tmp_path / "cache" / "org.example.group" / "thing-1.0.jar"
    assert path.read_bytes() == CONTENT
    assert not list((tmp_path / "cache").glob(".download-*"))


def test_other_bytes_than_pinned_are_refused(repository: str, tmp_path: Path) -> None:
    """A jar that was tampered with does not get into a class path."""
    with pytest.raises(SandboxError, match=r"group:thing:1\.0 has the wrong checksum"):
        cache(tmp_path / "cache", repository).class_path(pinned(b"other"))


def test_a_missing_jar_is_a_one_line_error(repository: str, tmp_path: Path) -> None:
    """The message names the jar and the repository."""
    (tmp_path / "empty").mkdir()
    absent = Jar("org.example.group", "absent", "1.0")
    with pytest.raises(SandboxError, match=f"^can't download .*absent:1.0 from {repository}: .+"):
        maven.fetch(absent, tmp_path / "empty", repository)


def test_no_network_is_a_one_line_error_with_the_remedy(tmp_path: Path) -> None:
    """It names the variable that selects another repository, and hides a password."""
    port = pick_free(set())
    with pytest.raises(SandboxError) as caught:
        maven.fetch(JAR, tmp_path, f"http://user:secret@127.0.0.1:{port}/maven")
    text = str(caught.value)
    assert text.startswith(f"can't download {JAR.coordinate} from http://127.0.0.1:{port}/maven: ")
    assert "Connection refused" in text
    assert maven.REPOSITORY_VARIABLE in text
    assert "secret" not in text
    assert "\n" not in text


def test_the_users_cache_and_repository_are_those_of_the_environment(
    repository: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both variables are read at each call."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv(maven.REPOSITORY_VARIABLE, repository)
    (path,) = jars.user_cache().class_path(pinned(CONTENT))
    assert path.is_relative_to(tmp_path / "xdg" / "zkconsumer" / "jars")


def publish(folder: Path, coordinate: str, *dependencies: str) -> None:
    """Put an artifact into a repository: its jar and a POM with its dependencies."""
    jar = Jar.parse(coordinate)
    place = folder / jar.group.replace(".", "/") / jar.artifact / jar.version
    place.mkdir(parents=True)
    needed = "".join(
        f"<dependency><groupId>{jar.group}</groupId><artifactId>{jar.artifact}</artifactId>"
        f"<version>{jar.version}</version></dependency>"
        for jar in map(Jar.parse, dependencies)
    )
    (place / f"{jar.artifact}-{jar.version}.pom").write_text(
        f"<project><modelVersion>4.0.0</modelVersion><groupId>{jar.group}</groupId>"
        f"<artifactId>{jar.artifact}</artifactId><version>{jar.version}</version>"
        f"<dependencies>{needed}</dependencies></project>"
    )
    (place / jar.file_name).write_bytes(coordinate.encode())


def test_the_lock_has_all_that_a_version_needs(repository: str, tmp_path: Path) -> None:
    """The artifact, the extras, then all transitive dependencies except for excluded ones."""
    folder = tmp_path / "repository"
    publish(folder, "org.apache.kafka:kafka_2.10:0.9", "g:direct:1", "g:lost:1")
    publish(folder, "g:direct:1", "g:indirect:2", "g:lost:1")
    publish(folder, "g:indirect:2")
    publish(folder, "g:extra:3")
    version = KafkaVersion(name="0.9", scala="2.10", extra=("g:extra:3",), excluded=("g:lost",))
    lock = make_lock([version], tmp_path / "scratch", repository)
    wanted = ["org.apache.kafka:kafka_2.10:0.9", "g:extra:3", "g:direct:1", "g:indirect:2"]
    assert [pinned_jar.jar.coordinate for pinned_jar in lock["0.9"]] == wanted
    assert [pinned_jar.sha256 for pinned_jar in lock["0.9"]] == [
        hashlib.sha256(name.encode()).hexdigest() for name in wanted
    ]


def test_a_version_that_cannot_be_resolved_is_a_one_line_error(
    repository: str, tmp_path: Path
) -> None:
    """It names the artifact."""
    version = KafkaVersion(name="0.9", scala="2.10")
    with pytest.raises(SandboxError, match=r"^can't resolve org\.apache\.kafka:kafka_2\.10:0\.9: "):
        make_lock([version], tmp_path / "scratch", repository)
