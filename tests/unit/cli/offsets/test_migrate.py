"""``zkconsumer offsets migrate`` between stores in memory."""

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support.memory_offset_store import MemoryOffsetStore
from zkconsumer.cli.main import main
from zkconsumer.cli.offsets import migrate as offsets
from zkconsumer.clock import SystemClock
from zkconsumer.errors import RegistryError
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.migration.group import MigratedGroup
from zkconsumer.offsets.migration.plan import OffsetStorage

A, B, GONE = (TopicPartition("t", number) for number in range(3))


class MigrationWorld:
    """Both stores of group ``g``; partition 2 is no longer in the cluster."""

    def __init__(self) -> None:
        self.zookeeper = MemoryOffsetStore(
            OffsetStorage.ZOOKEEPER,
            {A: OffsetAndMetadata(5), B: OffsetAndMetadata(7), GONE: OffsetAndMetadata(1)},
        )
        self.kafka = MemoryOffsetStore(OffsetStorage.KAFKA, {B: OffsetAndMetadata(2)})
        self.opened: list[str] = []
        self.logs = {A: (0, 5), B: (7, 100)}

    @contextmanager
    def open(self, args: argparse.Namespace) -> Iterator[SimpleNamespace]:
        """Replaces ``open_offsets``."""
        self.opened.append(args.zookeeper)
        both = {OffsetStorage.ZOOKEEPER: self.zookeeper, OffsetStorage.KAFKA: self.kafka}

        def of(group_id: str, *, with_kafka: bool) -> SimpleNamespace:
            assert (group_id, with_kafka) == ("g", True)
            group = MigratedGroup(group_id, tuple(both.values()))
            return SimpleNamespace(group=group, storage=both.get)

        yield SimpleNamespace(
            of=of,
            zookeeper=args.zookeeper,
            now_ms=SystemClock().wall_ms,
            partitions={A, B},
            logs=lambda _partitions: self.logs,
        )


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> MigrationWorld:
    """The stores, and an empty working directory."""
    world = MigrationWorld()
    monkeypatch.setattr(offsets, "open_offsets", world.open)
    monkeypatch.chdir(tmp_path)
    return world


def migrate(*flags: str) -> int:
    """Migrate to Kafka with these flags and return the exit status."""
    storages = ("--zookeeper", "zk:2181", "--group", "g", "--from", "zookeeper", "--to", "kafka")
    return main(["offsets", "migrate", *storages, "--wait-ms", "0", *flags])


def test_a_table_says_what_was_done(
    world: MigrationWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """The table shows each partition's offsets and result, and the command that undoes it."""
    assert migrate("--roll-back-file", "back.json") == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines() == [
        "PARTITION  IN ZOOKEEPER  IN KAFKA  RESULT",
        "t-0        5             -         written",
        "t-1        7             2         written",
        "t-2        1             -         skipped: there is no such partition",
        "group g: 2 of 2 written to kafka, verified; --roll-back back.json undoes it",
    ]
    assert printed.err == "zkconsumer: --roll-back back.json undoes what follows\n"
    assert world.opened == ["zk:2181"]


def test_a_dry_run_writes_nothing(
    world: MigrationWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """A dry run writes neither offsets nor a roll-back file."""
    assert migrate("--dry-run") == 0
    assert "2 of 3 to be written; nothing was written yet" in capsys.readouterr().out
    assert world.kafka.offsets == {B: OffsetAndMetadata(2)}
    assert list(Path().iterdir()) == []


def test_a_roll_back_needs_nothing_but_its_file(
    world: MigrationWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file names the group, the store and the cluster; a second roll-back does no harm."""
    assert migrate() == 0
    (file,) = Path().iterdir()
    assert file.name.startswith("offsets-g-kafka-")
    capsys.readouterr()
    assert main(["offsets", "migrate", "--roll-back", file.name]) == 0
    assert "IN THE FILE" in capsys.readouterr().out
    assert world.kafka.offsets == {A: None, B: OffsetAndMetadata(2)}
    assert main(["offsets", "migrate", "--roll-back", file.name, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["status"] == "done"
    assert world.opened == ["zk:2181"] * 3


def test_a_partial_migration_is_reported_by_partition(
    world: MigrationWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit status is 1, and the output says what was written and what undoes it."""
    world.kafka.fail_after = 1
    assert migrate("--roll-back-file", "back.json") == 1
    assert capsys.readouterr().out.splitlines()[1:] == [
        "t-0        5             -         written",
        "t-1        7             2         NOT 7: the answer was lost; it holds 2",
        "t-2        1             -         skipped: there is no such partition",
        "group g: 1 of 2 written to kafka, NOT verified; --roll-back back.json undoes it",
    ]
    world.kafka.fail_after = None
    assert main(["offsets", "migrate", "--roll-back", "back.json"]) == 0
    assert world.kafka.offsets == {A: None, B: OffsetAndMetadata(2)}


def test_doubts_and_offsets_only_in_the_target_are_reported(
    world: MigrationWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """Members that joined meanwhile and partitions only in the target are named in both formats."""
    world.kafka.offsets[TopicPartition("u", 0)] = OffsetAndMetadata(3)

    def meanwhile() -> None:
        world.kafka.member_ids = ["m-1"]

    world.kafka.on_write = meanwhile
    assert migrate() == 1
    out = capsys.readouterr().out
    assert "u-0: only kafka has an offset for it, which is not changed\n" in out
    assert "doubtful: a member joined meanwhile: m-1\n" in out
    world.kafka.member_ids = []
    assert migrate("--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["only_in_target"] == [["u", 0]]
    assert report["partitions"][1] == {
        "topic": "t",
        "partition": 1,
        "wanted": 7,
        "before": 7,
        "action": "same",
        "now": 7,
        "written": False,
    }
    assert report["roll_back_file"] is None


def test_an_offset_outside_the_log_is_noted(
    world: MigrationWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is migrated all the same; the reader's ``auto.offset.reset`` will apply."""
    world.logs = {A: (6, 90), B: (0, 6)}
    assert migrate("--json", "--dry-run") == 0
    noted = [
        "t-0: 5 is not in the log [6, 90): the next member starts by its auto.offset.reset",
        "t-1: 7 is not in the log [0, 6): the next member starts by its auto.offset.reset",
    ]
    assert json.loads(capsys.readouterr().out)["notes"] == noted
    assert migrate() == 0
    assert f"note: {noted[0]}\n" in capsys.readouterr().out


def test_live_members_prevent_a_migration(
    world: MigrationWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit status is 2, and the members are named, in JSON as well."""
    world.zookeeper.member_ids = ["g_host-1"]
    assert migrate("--json") == 2
    printed = capsys.readouterr()
    assert "g_host-1: stop them first" in printed.err
    assert json.loads(printed.out)["status"] == "refused"


def test_a_member_that_comes_late_leaves_no_file_behind(world: MigrationWorld) -> None:
    """If a member joins before the write, nothing was written and no roll-back file is left."""
    snapshots = iter([[], ["m-1"]])

    def set_members() -> None:
        world.zookeeper.member_ids = next(snapshots)

    world.zookeeper.on_members = set_members
    assert migrate() == 2
    assert list(Path().iterdir()) == []


def test_a_failed_last_check_of_members_leaves_no_file_behind(
    world: MigrationWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """If the last check for members fails, nothing was written and no roll-back file is left."""
    snapshots: Iterator[list[str]] = iter([[]])

    def set_members() -> None:
        members = next(snapshots, None)
        if members is None:
            raise RegistryError("ZooKeeper is away")
        world.zookeeper.member_ids = members

    world.zookeeper.on_members = set_members
    assert migrate() == 1
    assert "ZooKeeper is away" in capsys.readouterr().err
    assert world.kafka.offsets == {B: OffsetAndMetadata(2)}
    assert list(Path().iterdir()) == []


def test_a_target_that_is_ahead_is_refused_with_what_to_do(
    world: MigrationWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing at all is written unless ``--keep-ahead`` or ``--force`` is given."""
    world.kafka.offsets[B] = OffsetAndMetadata(9)
    assert migrate() == 2
    out = capsys.readouterr().out
    assert "refused: t-1: the target is at 9" in out
    assert "1 of 3 to be written; refused, nothing was written" in out
    assert A not in world.kafka.offsets
    assert migrate("--keep-ahead") == 0
    assert "kept: ahead" in capsys.readouterr().out
    assert migrate("--force") == 0
    assert world.kafka.offsets[B] == OffsetAndMetadata(7)


def test_an_existing_roll_back_file_is_not_overwritten(
    world: MigrationWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """It may be the only way to undo an earlier migration."""
    Path("back.json").write_text("precious", encoding="utf-8")
    assert migrate("--roll-back-file", "back.json") == 1
    assert "FileExistsError" in capsys.readouterr().err
    assert Path("back.json").read_text(encoding="utf-8") == "precious"
    assert world.kafka.offsets == {B: OffsetAndMetadata(2)}


@pytest.mark.parametrize(
    ("flags", "error"),
    [
        ([], "missing: --zookeeper, --group, --from, --to"),
        (
            ["--zookeeper", "z", "--group", "g", "--from", "kafka", "--to", "kafka"],
            "--from and --to are both kafka",
        ),
        (["--roll-back", "f", "--to", "kafka"], "--to can't be combined with --roll-back"),
        (["--roll-back", "noise"], "noise is no roll-back file"),
    ],
)
def test_wrong_usage_is_status_2(
    world: MigrationWorld, capsys: pytest.CaptureFixture[str], flags: list[str], error: str
) -> None:
    """The exit status is 2, and no connection is opened."""
    Path("noise").write_bytes(b"\xff\xfe")
    assert main(["offsets", "migrate", *flags]) == 2
    assert error in capsys.readouterr().err
    assert world.opened == []


def test_a_roll_back_of_another_group_is_refused(
    world: MigrationWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file of another group is refused before anything is opened."""
    assert migrate("--roll-back-file", "back.json") == 0
    assert main(["offsets", "migrate", "--roll-back", "back.json", "--group", "h"]) == 2
    assert "back.json is of group g, not of h" in capsys.readouterr().err
    assert len(world.opened) == 1


@pytest.mark.parametrize("flags", [["--wait-ms", "-1"], ["--force", "--keep-ahead"]])
def test_contradictory_flags_are_refused_by_the_parser(flags: list[str]) -> None:
    """Invalid or contradictory flags exit with status 2."""
    with pytest.raises(SystemExit) as exit_:
        migrate(*flags)
    assert exit_.value.code == 2


def test_an_incomplete_roll_back_file_is_removed(
    world: MigrationWorld, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a full disk nothing is written, and the same command works later."""

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        assert migrate("--roll-back-file", "back.json") == 1
    assert "No space left" in capsys.readouterr().err
    assert world.kafka.offsets == {B: OffsetAndMetadata(2)}
    assert list(Path().iterdir()) == []
    assert migrate("--roll-back-file", "back.json") == 0


def test_a_closed_output_does_not_hide_a_failure(
    world: MigrationWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With output closed early, as by ``| head -1``, the exit status still shows the failure."""

    class Closed:
        def write(self, _text: str) -> int:
            raise BrokenPipeError

        def flush(self) -> None:
            """Do nothing: there is no buffer."""

    world.kafka.fail_after = 1
    with monkeypatch.context() as patch:
        for storage in ("output", "main"):
            patch.setattr(f"zkconsumer.cli.{storage}.discard_standard_output", lambda: None)
        patch.setattr("sys.stdout", Closed())
        status = migrate()
    assert status == 1


def test_control_characters_in_member_names_are_escaped(
    world: MigrationWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """A member chooses its own name, which may hold characters that reverse the text."""
    world.kafka.on_write = lambda: setattr(world.kafka, "member_ids", ["m\u202e"])
    assert migrate() == 1
    assert "doubtful: a member joined meanwhile: m\\u202e\n" in capsys.readouterr().out
