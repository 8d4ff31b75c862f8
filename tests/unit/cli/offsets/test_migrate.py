"""``zkconsumer offsets migrate`` between places in memory."""

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support.offset_places import MemoryPlace
from zkconsumer.cli.main import main
from zkconsumer.cli.offsets import migrate as offsets
from zkconsumer.clock import SystemClock
from zkconsumer.errors import RegistryError
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.migration.migrate import MigratedGroup
from zkconsumer.offsets.migration.plan import OffsetStorage

A, B, GONE = (TopicPartition("t", number) for number in range(3))


class MigrationWorld:
    """Both places of group ``g``; partition 2 is not in the cluster any more."""

    def __init__(self) -> None:
        self.zookeeper = MemoryPlace(
            OffsetStorage.ZOOKEEPER,
            {A: OffsetAndMetadata(5), B: OffsetAndMetadata(7), GONE: OffsetAndMetadata(1)},
        )
        self.kafka = MemoryPlace(OffsetStorage.KAFKA, {B: OffsetAndMetadata(2)})
        self.opened: list[str] = []
        self.logs = {A: (0, 5), B: (7, 100)}

    @contextmanager
    def open(self, args: argparse.Namespace) -> Iterator[SimpleNamespace]:
        """As ``open_offsets``."""
        self.opened.append(args.zookeeper)
        both = {OffsetStorage.ZOOKEEPER: self.zookeeper, OffsetStorage.KAFKA: self.kafka}

        def of(group_id: str, *, with_kafka: bool) -> SimpleNamespace:
            assert (group_id, with_kafka) == ("g", True)
            group = MigratedGroup.of(group_id, *both.values())
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
    """A world, and an empty directory to work in."""
    world = MigrationWorld()
    monkeypatch.setattr(offsets, "open_offsets", world.open)
    monkeypatch.chdir(tmp_path)
    return world


def migrate(*flags: str) -> int:
    """To Kafka, with these flags; gives the exit status."""
    storages = ("--zookeeper", "zk:2181", "--group", "g", "--from", "zookeeper", "--to", "kafka")
    return main(["offsets", "migrate", *storages, "--wait-ms", "0", *flags])


def test_a_table_says_what_was_done(
    world: MigrationWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each partition's offsets and fate, and the command that undoes it."""
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
    """Not even a file."""
    assert migrate("--dry-run") == 0
    assert "2 of 3 to be written; nothing was written yet" in capsys.readouterr().out
    assert world.kafka.held == {B: OffsetAndMetadata(2)}
    assert list(Path().iterdir()) == []


def test_a_roll_back_needs_nothing_but_its_file(
    world: MigrationWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says which group, where, and on which cluster; twice does no harm."""
    assert migrate() == 0
    (file,) = Path().iterdir()
    assert file.name.startswith("offsets-g-kafka-")
    capsys.readouterr()
    assert main(["offsets", "migrate", "--roll-back", file.name]) == 0
    assert "IN THE FILE" in capsys.readouterr().out
    assert world.kafka.held == {A: None, B: OffsetAndMetadata(2)}
    assert main(["offsets", "migrate", "--roll-back", file.name, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["status"] == "done"
    assert world.opened == ["zk:2181"] * 3


def test_half_of_it_is_told_partition_by_partition(
    world: MigrationWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit status 1, what was written, what was not, and what undoes it."""
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
    assert world.kafka.held == {A: None, B: OffsetAndMetadata(2)}


def test_doubts_and_what_only_the_target_has_are_told(
    world: MigrationWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """In both forms."""
    world.kafka.held[TopicPartition("u", 0)] = OffsetAndMetadata(3)

    def meanwhile() -> None:
        world.kafka.present = ["m-1"]

    world.kafka.on_write = meanwhile
    assert migrate() == 1
    out = capsys.readouterr().out
    assert "u-0: only kafka has an offset for it, which is not changed\n" in out
    assert "doubtful: a member joined meanwhile: m-1\n" in out
    world.kafka.present = []
    assert migrate("--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["only_in_target"] == [["u", 0]]
    assert report["partitions"][1] == {
        "topic": "t",
        "partition": 1,
        "wanted": 7,
        "before": 7,
        "fate": "same",
        "now": 7,
        "written": False,
    }
    assert report["roll_back_file"] is None


def test_an_offset_that_the_log_does_not_have_is_noted(
    world: MigrationWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is carried all the same; what its reader will do, his settings say."""
    world.logs = {A: (6, 90), B: (0, 6)}
    assert migrate("--json", "--dry-run") == 0
    noted = [
        "t-0: 5 is not in the log [6, 90): the next member starts by its auto.offset.reset",
        "t-1: 7 is not in the log [0, 6): the next member starts by its auto.offset.reset",
    ]
    assert json.loads(capsys.readouterr().out)["notes"] == noted
    assert migrate() == 0
    assert f"note: {noted[0]}\n" in capsys.readouterr().out


def test_members_refuse_it(world: MigrationWorld, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit status 2, naming them; in JSON, too."""
    world.zookeeper.present = ["g_host-1"]
    assert migrate("--json") == 2
    printed = capsys.readouterr()
    assert "g_host-1: stop them first" in printed.err
    assert json.loads(printed.out)["status"] == "refused"


def test_a_member_that_comes_late_leaves_no_file_behind(world: MigrationWorld) -> None:
    """Nothing was written, so there is nothing to undo."""
    snapshots = iter([[], ["m-1"]])

    def look() -> None:
        world.zookeeper.present = next(snapshots)

    world.zookeeper.on_members = look
    assert migrate() == 2
    assert list(Path().iterdir()) == []


def test_members_that_can_not_be_read_at_last_leave_no_file_behind(
    world: MigrationWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing was written then, either."""
    snapshots: Iterator[list[str]] = iter([[]])

    def look() -> None:
        members = next(snapshots, None)
        if members is None:
            raise RegistryError("ZooKeeper is away")
        world.zookeeper.present = members

    world.zookeeper.on_members = look
    assert migrate() == 1
    assert "ZooKeeper is away" in capsys.readouterr().err
    assert world.kafka.held == {B: OffsetAndMetadata(2)}
    assert list(Path().iterdir()) == []


def test_a_target_that_is_ahead_is_refused_with_what_to_do(
    world: MigrationWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing else is written either, unless asked."""
    world.kafka.held[B] = OffsetAndMetadata(9)
    assert migrate() == 2
    out = capsys.readouterr().out
    assert "refused: t-1: the target is at 9" in out
    assert "1 of 3 to be written; refused, nothing was written" in out
    assert A not in world.kafka.held
    assert migrate("--keep-ahead") == 0
    assert "kept: ahead" in capsys.readouterr().out
    assert migrate("--force") == 0
    assert world.kafka.held[B] == OffsetAndMetadata(7)


def test_a_file_that_is_there_is_not_overwritten(
    world: MigrationWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """It may be the only way back from the migration before."""
    Path("back.json").write_text("precious", encoding="utf-8")
    assert migrate("--roll-back-file", "back.json") == 1
    assert "FileExistsError" in capsys.readouterr().err
    assert Path("back.json").read_text(encoding="utf-8") == "precious"
    assert world.kafka.held == {B: OffsetAndMetadata(2)}


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
    """And opens nothing."""
    Path("noise").write_bytes(b"\xff\xfe")
    assert main(["offsets", "migrate", *flags]) == 2
    assert error in capsys.readouterr().err
    assert world.opened == []


def test_a_roll_back_of_another_group_is_refused(
    world: MigrationWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong file must not be noticed too late."""
    assert migrate("--roll-back-file", "back.json") == 0
    assert main(["offsets", "migrate", "--roll-back", "back.json", "--group", "h"]) == 2
    assert "back.json is of group g, not of h" in capsys.readouterr().err
    assert len(world.opened) == 1


@pytest.mark.parametrize("flags", [["--wait-ms", "-1"], ["--force", "--keep-ahead"]])
def test_flags_that_make_no_sense_are_refused_by_the_parser(flags: list[str]) -> None:
    """As everywhere."""
    with pytest.raises(SystemExit) as exit_:
        migrate(*flags)
    assert exit_.value.code == 2


def test_half_a_roll_back_file_does_not_stay(
    world: MigrationWorld, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The disk is full: nothing is written, and the same command works later."""

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        assert migrate("--roll-back-file", "back.json") == 1
    assert "No space left" in capsys.readouterr().err
    assert world.kafka.held == {B: OffsetAndMetadata(2)}
    assert list(Path().iterdir()) == []
    assert migrate("--roll-back-file", "back.json") == 0


def test_the_exit_status_counts_where_nobody_reads_the_table(
    world: MigrationWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with ``| head -1``: what was not written is not taken for done."""

    class Closed:
        def write(self, _text: str) -> int:
            raise BrokenPipeError

        def flush(self) -> None:
            """Nothing waits."""

    world.kafka.fail_after = 1
    with monkeypatch.context() as patch:
        for storage in ("output", "main"):
            patch.setattr(f"zkconsumer.cli.{storage}.discard_standard_output", lambda: None)
        patch.setattr("sys.stdout", Closed())
        status = migrate()
    assert status == 1


def test_a_name_that_turns_text_around_is_escaped(
    world: MigrationWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever joins the group chooses its own."""
    world.kafka.on_write = lambda: setattr(world.kafka, "present", ["m\u202e"])
    assert migrate() == 1
    assert "doubtful: a member joined meanwhile: m\\u202e\n" in capsys.readouterr().out
