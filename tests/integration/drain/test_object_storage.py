"""A bucket as a drain's storage, on a server with S3's protocol."""

from collections.abc import Iterator

import obstore
import pyarrow as pa
import pytest
from obstore.exceptions import GenericError

from tests.support.begun_drains import begin
from tests.support.clusters import fresh_name
from tests.support.s3_server import BUCKET, file_system, s3_server
from tests.support.storage_contract import *  # noqa: F403 - its tests
from zkconsumer.drain import layout
from zkconsumer.drain.journal import BatchJournal
from zkconsumer.drain.local import formats
from zkconsumer.drain.local.columns import SCHEMA
from zkconsumer.drain.local.landed import LocalRows
from zkconsumer.drain.local.memory import Shares
from zkconsumer.drain.local.object_storage import ObjectStorage
from zkconsumer.drain.storage import Storage, StoredFile
from zkconsumer.errors import ConfigError, DrainError

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module", autouse=True)
def server() -> Iterator[None]:
    """Start one server for all tests of this module."""
    with s3_server():
        yield


@pytest.fixture(params=["s3", "s3a"])
def storage(request: pytest.FixtureRequest) -> Storage:
    """Give an empty folder of a bucket, by Arrow's and Hadoop's URL schemes."""
    return ObjectStorage(f"{request.param}://{BUCKET}/{fresh_name('drain')}/a drain")


def test_creating_an_object_that_another_client_created_fails(storage: Storage) -> None:
    """A condition refuses it; with the same content it is one's own, whose response got lost."""
    assert storage.create("plans/1.json", b"{1}")
    other = ObjectStorage(storage.uri(""))
    assert not other.create("plans/1.json", b"{2}")
    assert other.create("plans/1.json", b"{1}")
    assert storage.read("plans/1.json") == b"{1}"


def test_a_store_that_ignores_conditions_is_refused() -> None:
    """Two drains there would replace each other's batches; the probe finds out, and is deleted."""
    with s3_server(ignores_conditions=True):
        storage = ObjectStorage(f"s3://{BUCKET}/{fresh_name('drain')}")
        assert storage.create("plans/1.json", b"{1}")
        assert storage.create("plans/1.json", b"{2}")
        with pytest.raises(
            ConfigError, match=r"^--to \(or --state\): s3://lake/\S+: the store rep"
        ):
            BatchJournal(storage).probe("a")
        assert storage.files("") == [StoredFile("plans/1.json", 3)]


def test_a_store_that_heeds_conditions_is_accepted(storage: ObjectStorage) -> None:
    """The probe leaves nothing behind."""
    BatchJournal(storage).probe("a")
    assert storage.files("") == []


def test_a_folder_marker_is_no_file(storage: ObjectStorage) -> None:
    """Hadoop and S3's console create empty objects as markers of folders."""
    system, below = file_system(storage.uri(""))
    system.create_dir(below, recursive=True)
    assert storage.names("") == []
    for folder in ("staging/1", "topic=t/date=2014-05-13"):
        system.create_dir(f"{below}/{folder}", recursive=True)
    storage.create("staging/1/begun", b"1")
    assert (storage.names("staging"), storage.names("staging/1")) == (["1"], ["begun"])
    assert storage.files("") == [StoredFile("staging/1/begun", 1)]
    storage.delete("staging/1")
    assert (storage.names("staging/1"), storage.files("")) == ([], [])


def test_an_empty_object_is_a_file(storage: ObjectStorage) -> None:
    """An empty plan or manifest counts as damaged; deleting a folder deletes empty objects, too."""
    system, below = file_system(storage.uri(""))
    for path in (layout.plan_file(1), layout.manifest_file(1), "_zkconsumer/a/b"):
        system.open_output_stream(f"{below}/{path}").close()
    journal = BatchJournal(storage)
    begin(storage)
    with pytest.raises(DrainError, match=rf"{layout.plan_file(1)} .*damaged"):
        journal.read_state()
    with pytest.raises(DrainError, match=rf"{layout.manifest_file(1)} .*damaged"):
        journal.manifest(1)
    assert storage.files("_zkconsumer/a") == [StoredFile("b", 0)]
    storage.delete("_zkconsumer/a")
    assert storage.read("_zkconsumer/a/b") is None


def test_a_missing_bucket_is_named() -> None:
    """The error has the bucket's URL."""
    with pytest.raises(DrainError, match=r"s3://nobody/x, at 'a'"):
        ObjectStorage("s3://nobody/x").create("a", b"1")


@pytest.mark.parametrize("file_format", ["parquet", "json"])
def test_a_damaged_object_is_missing_and_a_failing_store_is_an_error(
    storage: ObjectStorage, monkeypatch: pytest.MonkeyPatch, file_format: str
) -> None:
    """A failed read must not count as rows that are not landed."""
    good, cut = "topic=t/date=2014-05-13/good", "topic=t/date=2014-05-13/cut"
    file = formats.create(storage, good, file_format)
    row = {"value": b"v" * 999, "partition": 0, "offset": 7, "timestampType": -1}
    file.write(pa.Table.from_pylist([row], SCHEMA))
    file.close()
    whole = storage.read(good)
    assert whole is not None
    storage.create(cut, whole[:200] + b"?" * 200 + whole[400:-9])

    def rows_of(path: str) -> int:
        found = LocalRows(storage, [path], file_format, Shares.of(256, 1)).contents()
        return sum(contents.rows for contents in found.values())

    assert (rows_of(good), rows_of(cut)) == (1, 0)
    monkeypatch.setattr(obstore, "open_reader", lambda *_, **__: _FailingReader())
    with pytest.raises(
        DrainError, match=r"^s3://lake/\S+/a drain, at 'topic=t/.*': the line is cut$"
    ):
        rows_of(good)


class _FailingReader:
    """A reader of 5000 bytes that fails at each read."""

    def read(self, size: int | None) -> bytes:
        raise GenericError(f"the line\nis {'cut' if size else 'whole'}")

    def seek(self, offset: int, whence: int) -> int:
        return offset if whence == 0 else 5_000

    def tell(self) -> int:
        return 5_000


def test_an_upload_whose_store_is_gone_is_an_error(storage: ObjectStorage) -> None:
    """The error is raised when the file is closed."""
    file = ObjectStorage("s3://nobody/x").output("a")
    file.write(b"1")
    with pytest.raises(DrainError, match=r"^s3://nobody/x, at 'a': "):
        file.close()
    assert storage.files("") == []
