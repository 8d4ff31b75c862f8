"""The cache of pinned jars."""

import hashlib
from pathlib import Path

import pytest

from zkconsumer.errors import SandboxError
from zkconsumer.sandbox.jars import JarCache, cache_folder
from zkconsumer.sandbox.lockfile import Jar, PinnedJar
from zkconsumer.scope import ThreadScope

CONTENTS = {
    Jar("org.one", "one", "1"): b"first",
    Jar("org.two", "two", "2"): b"second",
}
PINNED = tuple(
    PinnedJar(jar, hashlib.sha256(content).hexdigest()) for jar, content in CONTENTS.items()
)


class Repository:
    """A repository that notes the fetched jars; ``changed`` replaces their contents."""

    def __init__(self, changed: bytes | None = None) -> None:
        self.fetched: list[Jar] = []
        self._changed = changed

    def fetch(self, jar: Jar, into: Path) -> Path:
        """Write the jar into the folder."""
        self.fetched.append(jar)
        file = into / "some" / jar.file_name
        file.parent.mkdir(parents=True)
        file.write_bytes(CONTENTS[jar] if self._changed is None else self._changed)
        return file


def no_network(jar: Jar, into: Path) -> Path:
    """Fail as a download without a network does."""
    raise SandboxError(f"can't download {jar.coordinate} into {into}")


def test_missing_jars_are_fetched_in_order(tmp_path: Path) -> None:
    """The class path has the order of the lock file, and the contents of the jars."""
    cache = JarCache(tmp_path / "jars", Repository().fetch)
    assert cache.missing(PINNED) == 2
    paths = cache.class_path(PINNED)
    assert [path.read_bytes() for path in paths] == [b"first", b"second"]
    assert cache.missing(PINNED) == 0


def test_cached_jars_need_no_network(tmp_path: Path) -> None:
    """A jar in the cache is not fetched again."""
    paths = JarCache(tmp_path, Repository().fetch).class_path(PINNED)
    assert JarCache(tmp_path, no_network).class_path(PINNED) == paths


def test_a_wrong_checksum_keeps_the_jar_out(tmp_path: Path) -> None:
    """The error names the found checksum, and the next attempt downloads again."""
    wrong = Repository(changed=b"tampered")
    found = hashlib.sha256(b"tampered").hexdigest()
    with pytest.raises(SandboxError, match=f"org.one:one:1 has the wrong checksum.*{found}"):
        JarCache(tmp_path, wrong.fetch).class_path(PINNED)
    assert not list(tmp_path.rglob("*.jar"))
    right = Repository()
    assert len(JarCache(tmp_path, right.fetch).class_path(PINNED)) == 2
    assert right.fetched == list(CONTENTS)


def test_a_failed_download_keeps_earlier_jars(tmp_path: Path) -> None:
    """Complete jars stay, and the next attempt fetches only the others."""
    repository = Repository()

    def breaks_off(jar: Jar, into: Path) -> Path:
        return repository.fetch(jar, into) if jar.artifact == "one" else no_network(jar, into)

    with pytest.raises(SandboxError, match="can't download"):
        JarCache(tmp_path, breaks_off).class_path(PINNED)
    JarCache(tmp_path, repository.fetch).class_path(PINNED)
    assert [jar.artifact for jar in repository.fetched] == ["one", "two"]


def test_leftovers_of_a_killed_download_are_removed(tmp_path: Path) -> None:
    """Folders of earlier attempts do not pile up."""
    (tmp_path / ".download-old").mkdir()
    JarCache(tmp_path, Repository().fetch).class_path(PINNED)
    assert not list(tmp_path.glob(".download-*"))


def test_two_at_once_fetch_each_jar_once(tmp_path: Path) -> None:
    """The later ones wait for the first, and find its jars."""
    repository = Repository()
    results: list[list[Path]] = []
    scope = ThreadScope("test")
    for number in range(4):
        scope.spawn(
            f"cache-{number}",
            lambda: results.append(JarCache(tmp_path, repository.fetch).class_path(PINNED)),
            stop=lambda: None,
        )
    assert scope.close(timeout_ms=10_000) == []
    assert scope.first_error() is None
    assert len(results) == 4
    assert sorted(jar.artifact for jar in repository.fetched) == ["one", "two"]


def test_a_cache_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    """The error is one line, and names the folder."""
    (tmp_path / "file").touch()
    with pytest.raises(SandboxError, match=r"can't write the jar cache .*file"):
        JarCache(tmp_path / "file", Repository().fetch).class_path(PINNED)


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({}, "/home/me/.cache/zkconsumer/jars"),
        ({"XDG_CACHE_HOME": "/cache"}, "/cache/zkconsumer/jars"),
        ({"XDG_CACHE_HOME": "relative"}, "/home/me/.cache/zkconsumer/jars"),
    ],
)
def test_the_cache_folder_follows_the_xdg_rules(environ: dict[str, str], folder: str) -> None:
    """A relative path counts as unset."""
    assert cache_folder(environ, Path("/home/me")) == Path(folder)
