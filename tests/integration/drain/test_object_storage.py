"""A bucket as a drain's storage, on a server that speaks S3's protocol."""

from collections.abc import Iterator

import pytest

from tests.support.clusters import fresh_name
from tests.support.s3_server import BUCKET, s3_server
from tests.support.storage_contract import *  # noqa: F403 - its tests
from zkconsumer.drain.local.object_storage import ObjectStorage
from zkconsumer.drain.storage import Storage
from zkconsumer.errors import DrainError

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module", autouse=True)
def server() -> Iterator[None]:
    """One for all tests of this module."""
    with s3_server():
        yield


@pytest.fixture(params=["s3", "s3a"])
def storage(request: pytest.FixtureRequest) -> Storage:
    """An empty folder of a bucket, by the schemes of both worlds."""
    return ObjectStorage(f"{request.param}://{BUCKET}/{fresh_name('drain')}/a drain")


def test_who_creates_what_another_did_meanwhile_is_told(storage: Storage) -> None:
    """The server refuses by a condition; the same content is one's own, whose answer got lost."""
    assert storage.create("plans/1.json", b"{1}")
    other = ObjectStorage(storage.uri(""))
    assert not other.create("plans/1.json", b"{2}")
    assert other.create("plans/1.json", b"{1}")
    assert storage.read("plans/1.json") == b"{1}"


def test_a_bucket_that_is_not_there_is_told() -> None:
    """With its name."""
    with pytest.raises(DrainError, match=r"s3://nobody/x, at 'a'"):
        ObjectStorage("s3://nobody/x").create("a", b"1")
