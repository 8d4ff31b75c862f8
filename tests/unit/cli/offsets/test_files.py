"""``zkconsumer offsets export``, ``import`` and ``update`` with a cluster in memory."""

import json
import os
import stat
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tests.support.offset_cluster import MemoryCluster
from zkconsumer.cli.cluster_access import CommandCluster
from zkconsumer.cli.main import main
from zkconsumer.cli.offsets import export, import_, set_, undo, update
from zkconsumer.cli.offsets.opening import OffsetsCluster
from zkconsumer.errors import ConfigError
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.migration.plan import OffsetStorage
from zkconsumer.offsets.store import FetchedOffset

A, B, GONE = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("gone", 0)
ZK, KAFKA = OffsetStorage.ZOOKEEPER, OffsetStorage.KAFKA
SAVED = (
    "/consumers/both/offsets/t/0:9\n/consumers/both/offsets/t/1:6\n"
    "/consumers/g/offsets/gone/0:1\n/consumers/g/offsets/t/0:5\n"
    "/consumers/k/offsets/t/0:7\n"
)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> MemoryCluster:
    """Groups with offsets in ZooKeeper, in Kafka, in both and in none."""
    cluster = MemoryCluster({A: (0, 50), B: (0, 20)})
    cluster.hold("g", ZK, {A: 5, GONE: 1})
    cluster.hold("k", KAFKA, {A: 7})
    cluster.hold("both", ZK, {A: 9, B: 3})
    cluster.hold("both", KAFKA, {A: 8, B: 6})
    cluster.hold("none", ZK, {})
    for module in (export, import_, set_, undo, update):
        monkeypatch.setattr(module, "open_offsets", cluster.open)
    monkeypatch.chdir(tmp_path)
    return cluster


def save(*flags: str, name: str = "saved") -> int:
    """Export to a file and return the exit status."""
    return main(["offsets", "export", "--zookeeper", "zk", "--output-file", name, *flags])


def restore(*flags: str, name: str = "saved") -> int:
    """Import from a file and return the exit status."""
    return main(["offsets", "import", "--zookeeper", "zk", "--input-file", name, *flags])


def all_offsets(cluster: MemoryCluster) -> list[dict[TopicPartition, int]]:
    """Return all offsets of all groups and stores."""
    return [
        cluster.numbers(group_id, storage)
        for group_id in ("both", "g", "k")
        for storage in OffsetStorage
    ]


def test_export_writes_the_offset_at_which_each_group_would_continue(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """All groups are exported in the original's format, wherever their offsets are stored."""
    assert save() == 0
    assert Path("saved").read_text() == SAVED
    assert capsys.readouterr().err == "zkconsumer: 5 offsets of 3 groups\n"
    assert save(name="-") == 0
    assert capsys.readouterr().out == SAVED
    assert cluster.stores["none"][KAFKA].offsets == {}


def test_export_can_be_limited_to_groups_or_one_store(cluster: MemoryCluster) -> None:
    """With one store selected, a group's offsets in the other are left out."""
    assert save("--group", "both", "--group", "g", "--storage", "zookeeper") == 0
    assert Path("saved").read_text() == (
        "/consumers/both/offsets/t/0:9\n/consumers/both/offsets/t/1:3\n"
        "/consumers/g/offsets/gone/0:1\n/consumers/g/offsets/t/0:5\n"
    )
    assert save("--storage", "zookeeper") == 0
    assert not cluster.queried_brokers, "there may be none"
    assert save("--storage", "kafka", "--csv") == 0
    assert Path("saved").read_text() == "both,t,0,8\nboth,t,1,6\nk,t,0,7\n"
    assert save("--group", "k", "--csv") == 0
    assert Path("saved").read_text() == "t,0,7\n"
    assert cluster.opened == ["zk"] * 4


def test_ids_that_only_coordinators_allow_are_exported_as_csv(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """CSV can hold any group id; the original's format cannot, which the error says."""
    for group_id in ("team/app", 'a,b"c'):
        cluster.hold(group_id, KAFKA, {A: 4})
    assert save() == 2
    assert (
        "'team/app' can't be written in the original's format: give --csv"
        in capsys.readouterr().err
    )
    assert save("--csv") == 0
    assert '"a,b""c",t,0,4\n' in Path("saved").read_text()
    for group_id in ("team/app", 'a,b"c'):
        cluster.hold(group_id, KAFKA, {A: 1})
    assert restore() == 0
    assert cluster.numbers("team/app", KAFKA) == cluster.numbers('a,b"c', KAFKA) == {A: 4}
    assert save("--storage", "zookeeper") == 0


def test_zookeeper_is_not_read_for_an_id_that_cannot_be_a_node() -> None:
    """Only the coordinator is asked about such a group."""
    access = cast(
        "CommandCluster",
        SimpleNamespace(
            **dict.fromkeys(("client", "dialer", "clock", "zookeeper_connect")),
            **dict.fromkeys(("store", "zookeeper"), object()),
            timeout_ms=1,
        ),
    )
    alone = OffsetsCluster(access).of("g", without_kafka=True)
    assert list(alone.storages) == [ZK], "and no broker is needed for ZooKeeper alone"
    storages = OffsetsCluster(access).of("team/app", with_kafka=True)
    assert list(storages.storages) == [KAFKA]
    with pytest.raises(ConfigError, match="'team/app' can't be the name of a ZooKeeper node"):
        storages.storage(ZK)


def test_exporting_a_group_without_offsets_fails(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error names the group, and an earlier file is not replaced."""
    Path("saved").write_text("before")
    assert save("--group", "g", "--group", "slip") == 2
    assert "no offsets of slip found" in capsys.readouterr().err
    assert Path("saved").read_text() == "before"
    assert cluster.opened == ["zk"]


def test_an_unreadable_offset_stops_the_export(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An incomplete file, whose gap nobody would notice, is never written."""
    Path("saved").write_text("before")
    broken = {A: FetchedOffset(None, "offset of t-0: garbage"), B: FetchedOffset(3)}
    monkeypatch.setattr(cluster.stores["g"][ZK], "stored", lambda _topics: broken)
    assert save() == 1
    assert "nothing was exported: offset of t-0: garbage" in capsys.readouterr().err
    assert Path("saved").read_text() == "before"
    cluster.stores["both"][KAFKA].unreadable = True
    assert save("--group", "both") == 1


def test_the_file_is_replaced_atomically(cluster: MemoryCluster) -> None:
    """A new file has the usual permissions, and a device or pipe is written to as it is."""
    mask = os.umask(0o027)
    try:
        assert save() == 0
    finally:
        os.umask(mask)
    assert stat.S_IMODE(Path("saved").stat().st_mode) == 0o640
    assert [path.name for path in Path().iterdir()] == ["saved"]
    assert save(name="/dev/null") == 0
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    assert save(name="no/such/folder") == 1
    assert cluster.opened


def test_exported_offsets_are_restored_and_can_be_rolled_back(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """Offsets return to the store of each group, and the import's roll-back file undoes it."""
    before = all_offsets(cluster)
    assert save() == 0
    for group_id, storage in (("g", ZK), ("k", KAFKA), ("both", ZK), ("both", KAFKA)):
        cluster.hold(group_id, storage, {A: 1, B: 2})
    moved = all_offsets(cluster)
    assert restore("--roll-back-file", "back.json") == 0
    # Offsets that the file lacks are kept; a group with two stores gets the larger in both.
    assert all_offsets(cluster) == [
        *({A: 9, B: 6}, {A: 9, B: 6}),
        *({A: 5, B: 2, GONE: 1}, {}),
        *({}, {A: 7, B: 2}),
    ]
    out = capsys.readouterr().out
    assert out.count("verified") == 4
    assert "skipped: there is no such partition" in out
    assert main(["offsets", "set", "--roll-back", "back.json", "--zookeeper", "zk"]) == 0
    assert all_offsets(cluster) == moved != before


def test_nothing_is_written_where_anything_is_refused(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """A live member, an invalid line or an offset outside the log stops the whole import."""
    before = all_offsets(cluster)
    Path("saved").write_text(SAVED.replace(":9", ":10"))
    cluster.stores["k"][KAFKA].member_ids = ["m-1"]
    assert restore("--json") == 2
    report = json.loads(capsys.readouterr().out)
    assert (report["status"], report["roll_back_file"]) == ("refused", None)
    assert [group["refusals"] != [] for group in report["groups"]] == [False, False, False, True]
    cluster.stores["k"][KAFKA].member_ids = []
    Path("saved").write_text(SAVED + "/consumers/g/offsets/t/1:x\n/consumers/g/owners/t/1:1\n")
    assert restore() == 2
    err = capsys.readouterr().err
    assert "saved is invalid: line 6: " in err
    assert "line 7: " in err
    Path("saved").write_text(SAVED + "/consumers/g/offsets/t/1:21\n")
    assert restore() == 2
    assert "21 is not in its log [0, 20)" in capsys.readouterr().out
    assert all_offsets(cluster) == before
    assert [path.name for path in Path().iterdir()] == ["saved"]
    assert restore("--outside", "keep") == 0
    assert cluster.numbers("g", ZK)[B] == 21


def test_a_new_group_gets_its_offsets_in_zookeeper(cluster: MemoryCluster) -> None:
    """As in the original, unless another store is requested."""
    Path("saved").write_text("/consumers/new/offsets/t/0:4\n")
    assert restore("--dry-run") == 0
    assert cluster.numbers("new", ZK) == {}
    assert restore() == 0
    assert cluster.numbers("new", ZK) == {A: 4}
    assert restore("--storage", "both") == 0
    assert cluster.numbers("new", KAFKA) == {A: 4}


def test_import_can_be_limited_to_groups(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """A selected group also receives lines that name no group."""
    Path("saved").write_text(SAVED.replace(":5", ":6").replace(":7", ":8"))
    assert restore("--group", "k") == 0
    assert (cluster.numbers("k", KAFKA), cluster.numbers("g", ZK)[A]) == ({A: 8}, 5)
    assert restore("--group", "slip") == 2
    assert "saved has no offsets of slip, but of both, g, k" in capsys.readouterr().err
    Path("saved").write_text("t,1,11\n")
    assert restore("--group", "g") == 0
    assert cluster.numbers("g", ZK)[B] == 11
    assert restore() == 2, "no group is named"


def test_an_empty_line_ends_the_import_only_in_scala_format(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """We continue with a warning; ``--format scala`` stops there silently, like the original."""
    Path("saved").write_text(
        "/consumers/g/offsets/t/0:15\n\n/consumers/g/offsets/t/1:16\n", encoding="utf-8"
    )
    assert restore("--format", "scala", "--roll-back-file", "one") == 0
    assert capsys.readouterr().out == ""
    assert cluster.numbers("g", ZK) == {A: 15, GONE: 1}
    assert restore() == 0
    assert (
        "saved:2 is empty: the original would stop there, but reading continues"
        in capsys.readouterr().err
    )
    assert cluster.numbers("g", ZK) == {A: 15, B: 16, GONE: 1}
    Path("saved").write_text("/consumers/g/offsets/t/0:17:18\n", encoding="utf-8")
    assert restore() == 2
    assert restore("--format", "scala") == 0
    assert cluster.numbers("g", ZK)[A] == 17
    Path("saved").write_text("/anywhere/else:17\n", encoding="utf-8")
    assert restore("--format", "scala") == 2
    cluster.stores["g"][ZK].member_ids = ["m-1"]
    Path("saved").write_text("/consumers/g/offsets/t/0:19\n", encoding="utf-8")
    capsys.readouterr()
    assert restore("--format", "scala") == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "live members: m-1" in printed.err


def update_offsets(*words: str) -> int:
    """Update as the original does and return the exit status."""
    Path("g.properties").write_text("group.id=g\nzookeeper.connect=zk9:2181\n")
    return main(["offsets", "update", *words])


def test_update_moves_a_topic_to_one_end_of_its_logs(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """The properties file names the cluster; the output is the original's or ours."""
    assert update_offsets("latest", "g.properties", "t", "--format", "scala") == 0
    assert capsys.readouterr().out == (
        "updating partition 0 with new offset: 50\nupdating partition 1 with new offset: 20\n"
        "updated the offset for 2 partitions\n"
    )
    assert cluster.numbers("g", ZK) == {A: 50, B: 20, GONE: 1}
    assert cluster.opened == ["zk9:2181"]
    assert update_offsets("earliest", "g.properties", "t") == 0
    assert "group g in zookeeper: 2 of 2 offsets written, verified" in capsys.readouterr().out
    assert cluster.numbers("g", ZK) == {A: 0, B: 0, GONE: 1}


def test_invalid_updates_are_refused(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """With ``--format scala`` the output and exit status are the original's."""
    assert update_offsets("newest", "g.properties", "t", "--format", "scala") == 1
    assert capsys.readouterr().out.startswith("USAGE: kafka.tools.UpdateOffsetsInZK$ ")
    assert update_offsets("newest", "g.properties", "t") == 2
    assert update_offsets("latest", "g.properties", "nope", "--format", "scala") == 0
    assert capsys.readouterr().out == "updated the offset for 0 partitions\n"
    assert update_offsets("latest", "g.properties", "nope") == 2
    Path("bare.properties").touch()
    assert update_offsets("latest", "bare.properties", "t") == 2
    assert "bare.properties has no group.id" in capsys.readouterr().err
    assert cluster.numbers("g", ZK) == {A: 5, GONE: 1}
    cluster.stores["g"][ZK].offsets[A] = OffsetAndMetadata(5)
