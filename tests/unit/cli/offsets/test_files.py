"""``zkconsumer offsets export``, ``import`` and ``update`` on a cluster in memory."""

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
    """One group with offsets in ZooKeeper, one in Kafka, one in both, one without any."""
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
    """Export to a file; gives the exit status."""
    return main(["offsets", "export", "--zookeeper", "zk", "--output-file", name, *flags])


def restore(*flags: str, name: str = "saved") -> int:
    """Import from a file; gives the exit status."""
    return main(["offsets", "import", "--zookeeper", "zk", "--input-file", name, *flags])


def state(cluster: MemoryCluster) -> list[dict[TopicPartition, int]]:
    """All that there is."""
    return [
        cluster.numbers(group_id, storage)
        for group_id in ("both", "g", "k")
        for storage in OffsetStorage
    ]


def test_all_groups_are_saved_by_what_they_would_go_on_from(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the original's form, wherever they are kept."""
    assert save() == 0
    assert Path("saved").read_text() == SAVED
    assert capsys.readouterr().err == "zkconsumer: 5 offsets of 3 groups\n"
    assert save(name="-") == 0
    assert capsys.readouterr().out == SAVED
    assert cluster.kept["none"][KAFKA].held == {}


def test_some_groups_or_one_place_can_be_picked(cluster: MemoryCluster) -> None:
    """What a group has elsewhere is left out then."""
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


def test_ids_that_only_coordinators_take_are_saved_as_csv(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """And come back; in the original's form there is no way to write them."""
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


def test_zookeeper_is_not_asked_for_a_group_that_can_not_be_there() -> None:
    """Its coordinator is."""
    access = cast(
        "CommandCluster",
        SimpleNamespace(
            **dict.fromkeys(("client", "dialer", "clock", "zookeeper_connect")),
            **dict.fromkeys(("store", "zookeeper"), object()),
            timeout_ms=1,
        ),
    )
    alone = OffsetsCluster(access).of("g", without_kafka=True)
    assert list(alone.storages) == [ZK], "and no broker for what is to come from ZooKeeper alone"
    storages = OffsetsCluster(access).of("team/app", with_kafka=True)
    assert list(storages.storages) == [KAFKA]
    with pytest.raises(ConfigError, match="'team/app' can't be the name of a ZooKeeper node"):
        storages.storage(ZK)


def test_a_group_that_has_none_is_told(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """And what was saved before stays."""
    Path("saved").write_text("before")
    assert save("--group", "g", "--group", "slip") == 2
    assert "no offsets of slip found" in capsys.readouterr().err
    assert Path("saved").read_text() == "before"
    assert cluster.opened == ["zk"]


def test_what_can_not_be_read_stops_it(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is worse than a file that lacks something unseen."""
    Path("saved").write_text("before")
    broken = {A: FetchedOffset(None, "offset of t-0: garbage"), B: FetchedOffset(3)}
    monkeypatch.setattr(cluster.kept["g"][ZK], "stored", lambda _topics: broken)
    assert save() == 1
    assert "nothing was exported: offset of t-0: garbage" in capsys.readouterr().err
    assert Path("saved").read_text() == "before"
    cluster.kept["both"][KAFKA].unreadable = True
    assert save("--group", "both") == 1


def test_the_file_is_replaced_as_a_whole(cluster: MemoryCluster) -> None:
    """With the rights that any new file has; a pipe stays a pipe."""
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


def test_what_was_saved_comes_back(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where each group keeps its offsets; and the file of the import undoes it all."""
    before = state(cluster)
    assert save() == 0
    for group_id, storage in (("g", ZK), ("k", KAFKA), ("both", ZK), ("both", KAFKA)):
        cluster.hold(group_id, storage, {A: 1, B: 2})
    moved = state(cluster)
    assert restore("--roll-back-file", "back.json") == 0
    # What a group did not have, nobody takes away; both places of one group have the larger.
    assert state(cluster) == [
        *({A: 9, B: 6}, {A: 9, B: 6}),
        *({A: 5, B: 2, GONE: 1}, {}),
        *({}, {A: 7, B: 2}),
    ]
    out = capsys.readouterr().out
    assert out.count("verified") == 4
    assert "skipped: there is no such partition" in out
    assert main(["offsets", "set", "--roll-back", "back.json", "--zookeeper", "zk"]) == 0
    assert state(cluster) == moved != before


def test_nothing_is_written_where_anything_is_refused(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """A living member, a line that makes no sense, an offset that no log has."""
    before = state(cluster)
    Path("saved").write_text(SAVED.replace(":9", ":10"))
    cluster.kept["k"][KAFKA].present = ["m-1"]
    assert restore("--json") == 2
    report = json.loads(capsys.readouterr().out)
    assert (report["status"], report["roll_back_file"]) == ("refused", None)
    assert [group["refusals"] != [] for group in report["groups"]] == [False, False, False, True]
    cluster.kept["k"][KAFKA].present = []
    Path("saved").write_text(SAVED + "/consumers/g/offsets/t/1:x\n/consumers/g/owners/t/1:1\n")
    assert restore() == 2
    err = capsys.readouterr().err
    assert "saved is invalid: line 6: " in err
    assert "line 7: " in err
    Path("saved").write_text(SAVED + "/consumers/g/offsets/t/1:21\n")
    assert restore() == 2
    assert "21 is not in its log [0, 20)" in capsys.readouterr().out
    assert state(cluster) == before
    assert [path.name for path in Path().iterdir()] == ["saved"]
    assert restore("--outside", "keep") == 0
    assert cluster.numbers("g", ZK)[B] == 21


def test_a_group_that_is_new_gets_its_offsets_in_zookeeper(cluster: MemoryCluster) -> None:
    """As the original puts them there; unless one says otherwise."""
    Path("saved").write_text("/consumers/new/offsets/t/0:4\n")
    assert restore("--dry-run") == 0
    assert cluster.numbers("new", ZK) == {}
    assert restore() == 0
    assert cluster.numbers("new", ZK) == {A: 4}
    assert restore("--storage", "both") == 0
    assert cluster.numbers("new", KAFKA) == {A: 4}


def test_groups_of_the_file_can_be_picked(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """And lines without a group get one."""
    Path("saved").write_text(SAVED.replace(":5", ":6").replace(":7", ":8"))
    assert restore("--group", "k") == 0
    assert (cluster.numbers("k", KAFKA), cluster.numbers("g", ZK)[A]) == ({A: 8}, 5)
    assert restore("--group", "slip") == 2
    assert "saved has no offsets of slip, but of both, g, k" in capsys.readouterr().err
    Path("saved").write_text("t,1,11\n")
    assert restore("--group", "g") == 0
    assert cluster.numbers("g", ZK)[B] == 11
    assert restore() == 2, "whose?"


def test_the_first_empty_line_ends_it_for_the_original_only(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever relied on that is told; with its format it ends here, too, and prints nothing."""
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
    cluster.kept["g"][ZK].present = ["m-1"]
    Path("saved").write_text("/consumers/g/offsets/t/0:19\n", encoding="utf-8")
    capsys.readouterr()
    assert restore("--format", "scala") == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "live members: m-1" in printed.err


def change(*words: str) -> int:
    """Update as the original does; gives the exit status."""
    Path("g.properties").write_text("group.id=g\nzookeeper.connect=zk9:2181\n")
    return main(["offsets", "update", *words])


def test_one_topic_to_one_end_in_the_original_s_words(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """And in ours; the cluster stands in the file."""
    assert change("latest", "g.properties", "t", "--format", "scala") == 0
    assert capsys.readouterr().out == (
        "updating partition 0 with new offset: 50\nupdating partition 1 with new offset: 20\n"
        "updated the offset for 2 partitions\n"
    )
    assert cluster.numbers("g", ZK) == {A: 50, B: 20, GONE: 1}
    assert cluster.opened == ["zk9:2181"]
    assert change("earliest", "g.properties", "t") == 0
    assert "group g in zookeeper: 2 of 2 offsets written, verified" in capsys.readouterr().out
    assert cluster.numbers("g", ZK) == {A: 0, B: 0, GONE: 1}


def test_what_is_no_use_to_update_is_told(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the original's words and status, if that is wanted."""
    assert change("newest", "g.properties", "t", "--format", "scala") == 1
    assert capsys.readouterr().out.startswith("USAGE: kafka.tools.UpdateOffsetsInZK$ ")
    assert change("newest", "g.properties", "t") == 2
    assert change("latest", "g.properties", "nope", "--format", "scala") == 0
    assert capsys.readouterr().out == "updated the offset for 0 partitions\n"
    assert change("latest", "g.properties", "nope") == 2
    Path("bare.properties").touch()
    assert change("latest", "bare.properties", "t") == 2
    assert "bare.properties has no group.id" in capsys.readouterr().err
    assert cluster.numbers("g", ZK) == {A: 5, GONE: 1}
    cluster.kept["g"][ZK].held[A] = OffsetAndMetadata(5)
