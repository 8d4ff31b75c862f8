"""The lock file of pinned jars: how it is written, read and checked."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.lock_jars import CONNECTOR, CONNECTOR_COORDINATES, render_lock
from zkconsumer.errors import SandboxError
from zkconsumer.sandbox.jars import shipped_lock
from zkconsumer.sandbox.kdc import KDC
from zkconsumer.sandbox.kraft import KRAFT
from zkconsumer.sandbox.lockfile import Jar, JarLock, PinnedJar, parse_lock
from zkconsumer.sandbox.versions import VERSIONS

KAFKA = PinnedJar(Jar("org.apache.kafka", "kafka_2.10", "0.8.2.2"), "a" * 64)
SCALA = PinnedJar(Jar("org.scala-lang", "scala-library", "2.10.4"), "b" * 64)


def test_a_lock_survives_being_written_and_read() -> None:
    """Reading what was written gives the same jars in the same order."""
    lock = JarLock({"0.8.2.2": (SCALA, KAFKA), "0.8.1.1": (SCALA,)})
    assert parse_lock(render_lock(lock)) == lock


def test_the_shipped_lock_pins_every_version() -> None:
    """For each version the shipped lock has its own artifact first, and all its extras."""
    lock = shipped_lock()
    assert list(lock) == [*VERSIONS, KRAFT.name, CONNECTOR, KDC]
    for name, version in {**VERSIONS, KRAFT.name: KRAFT}.items():
        coordinates = [pinned_jar.jar.coordinate for pinned_jar in lock[name]]
        assert coordinates[0] == version.coordinate
        assert set(version.extra) <= set(coordinates)


def test_the_shipped_lock_pins_the_connectors_jars() -> None:
    """The connector's jars are pinned in class path order, with the brokers' own client library."""
    lock = shipped_lock()
    pinned = lock[CONNECTOR]
    assert [pinned_jar.jar.coordinate for pinned_jar in pinned] == list(CONNECTOR_COORDINATES)
    assert set(lock["3.9.1"]) & set(pinned) == {pinned[2]}


def test_the_shipped_lock_is_written_by_us() -> None:
    """Rendering the shipped lock gives the same lock: nobody has edited it by hand."""
    lock = shipped_lock()
    assert parse_lock(render_lock(lock)) == lock


def test_a_version_without_jars_is_refused() -> None:
    """The error names the version for which no jars are pinned."""
    with pytest.raises(SandboxError, match=r"no jars for 0\.8\.0"):
        JarLock()["0.8.0"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "is not JSON"),
        ("[]", "not a lock file of format 1"),
        ('{"format": 2, "versions": {}, "sha256": {}}', "not a lock file of format 1"),
        ('{"format": 1, "versions": {"v": "a:b:c"}, "sha256": {}}', "not a list of coordinates"),
        ('{"format": 1, "versions": {"v": ["a:b:c"]}, "sha256": {}}', "no SHA-256 for a:b:c"),
        (
            '{"format": 1, "versions": {"v": ["a:b:c"]}, "sha256": {"a:b:c": "XYZ"}}',
            "no SHA-256 for a:b:c",
        ),
        (
            '{"format": 1, "versions": {"v": ["a:b"]}, "sha256": {"a:b": "%s"}}' % ("0" * 64),
            "'a:b' is not a Maven coordinate",
        ),
    ],
)
def test_a_broken_lock_is_refused_with_its_reason(text: str, reason: str) -> None:
    """Each fault of a lock file has an error message of its own."""
    with pytest.raises(SandboxError, match=reason):
        parse_lock(text)


@pytest.mark.parametrize("coordinate", ["", "a:b", "a:b:c:d", "a::c", "a:../b:c"])
def test_a_coordinate_must_be_three_plain_names(coordinate: str) -> None:
    """A coordinate that could lead out of the cache folder is refused."""
    with pytest.raises(SandboxError, match="not a Maven coordinate"):
        Jar.parse(coordinate)


_JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["format", "versions", "sha256", "a:b:c"]), inner, max_size=3
        )
    ),
    max_leaves=6,
)


@given(_JSON)
def test_any_json_is_read_or_refused(value: object) -> None:
    """Whatever JSON the file holds, it is a lock or raises the sandbox's own error."""
    try:
        lock = parse_lock(json.dumps(value))
    except SandboxError:
        return
    assert isinstance(lock, JarLock)
