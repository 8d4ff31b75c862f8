"""The doctor's repairs: against nodes that changed meanwhile, and their undoing."""

import pytest

from tests.support.diagnosed_cluster import DiagnosedCluster
from zkconsumer.errors import ConfigError
from zkconsumer.status.doctor.fix import Fix, Write, session_name
from zkconsumer.status.doctor.fixing import FixPlan, plan_fix
from zkconsumer.status.doctor.undo import (
    UndoPlan,
    UndoRecord,
    decode_undo,
    encode_undo,
    plan_undo,
)
from zkconsumer.zk.store import CreateOp, DeleteOp, SetOp


def fix_of(*writes: Write, absent: tuple[str, ...] = (), childless: tuple[str, ...] = ()) -> Fix:
    """Return a repair with these writes."""
    return Fix(what="w", caution="c", writes=writes, absent=absent, childless=childless)


def deletion(path: str, before: bytes = b"1", session_id: int = 0) -> Write:
    """Return the deletion of a node."""
    return Write(path=path, before=before, session_id=session_id)


def world_of(**nodes: bytes) -> DiagnosedCluster:
    """Return a world with these persistent nodes below the root."""
    world = DiagnosedCluster()
    for name, data in nodes.items():
        world.create_node(f"/{name}", data)
    return world


def test_writes_have_the_version_that_was_read() -> None:
    """A write has the version of the node that was read, so that it fails if another came first."""
    world = world_of(a=b"1", b=b"2")
    world.tree.apply([SetOp("/a", b"1"), SetOp("/a", b"1")], 0)
    delete = deletion("/a")
    change = Write(path="/b", before=b"2", session_id=0, after=b"3")
    plan = world.plan(fix_of(delete, change))
    assert [write.op for write in plan.writes] == [DeleteOp("/a", 2), SetOp("/b", b"3", 0)]
    assert [planned.write for planned in plan.writes] == [
        Write(path="/a", before=b"1", after=None, session_id=0),
        Write(path="/b", before=b"2", after=b"3", session_id=0),
    ]
    assert plan == FixPlan(writes=plan.writes, skipped={})


def test_nodes_that_changed_are_skipped() -> None:
    """A node that changed is skipped with the reason, and the other writes are planned."""
    world = world_of(data=b"other", changed=b"new", fine=b"1")
    world.create_node("/session", b"1", 7)
    plan = world.plan(
        fix_of(
            deletion("/gone"),
            deletion("/data"),
            deletion("/session"),
            Write(path="/changed", before=b"old", session_id=0, after=b"new"),
            deletion("/fine"),
        )
    )
    assert plan.skipped == {
        "/gone": "it is gone",
        "/data": "it now holds 'other'",
        "/session": "it is now of session 0x7",
        "/changed": "it now holds 'new'",
    }
    assert [write.op.path for write in plan.writes] == ["/fine"]


def test_a_persistent_node_in_place_of_an_ephemeral_one_is_another() -> None:
    """A persistent node in place of an ephemeral one is skipped, as its session differs."""
    plan = world_of(a=b"1").plan(fix_of(deletion("/a", session_id=7)))
    assert plan.skipped == {"/a": "it is now a persistent node"}


def test_a_node_that_must_not_exist_prevents_all_writes() -> None:
    """If a node, or a child of one, exists that must not, nothing is written at all."""
    world = world_of(a=b"1", b=b"2")
    write = deletion("/a")
    assert world.plan(fix_of(write, absent=("/b",))).refused == "/b exists by now"
    assert world.plan(fix_of(write, absent=("/c",))).refused is None
    assert world.plan(fix_of(write, childless=("/b", "/c"))).refused is None
    world.create_node("/b/x", b"")
    plan = world.plan(fix_of(write, childless=("/b",)))
    assert plan == FixPlan(refused="/b has 1 by now: x", skipped={})


def test_nodes_to_read_are_named_once() -> None:
    """The paths of a repair are those that it writes and those that must be absent, each once."""
    write = deletion("/a")
    assert fix_of(write, write, absent=("/a", "/b")).paths == ("/a", "/b")


def undo(world: DiagnosedCluster, plan: FixPlan) -> UndoPlan:
    """Undo a plan, from the text of its undo file."""
    record = UndoRecord(
        zookeeper="zk", made_ms=5, writes=tuple(planned.write for planned in plan.writes)
    )
    assert decode_undo(encode_undo(record), "f") == record
    back = plan_undo(record, {step.path: world.tree.get(step.path) for step in record.writes})
    for op in back.ops:
        assert world.tree.apply([op], 0)[0].ok
    return back


def test_persistent_nodes_are_restored() -> None:
    """An undo restores persistent nodes with their bytes, which need not be text."""
    world = world_of(a=b"\xff\x00", b="ü".encode())
    before = world.contents()
    plan = world.repair(
        fix_of(
            deletion("/a", b"\xff\x00"),
            Write(path="/b", before="ü".encode(), session_id=0, after=b"3"),
        )
    )
    assert world.contents() != before
    assert undo(world, plan).skipped == {}
    assert world.contents() == before
    assert undo(world, plan).skipped == {"/a": "it is unchanged", "/b": "it is unchanged"}


def test_an_ephemeral_node_is_not_restored() -> None:
    """An ephemeral node of another session is not restored: it would be of our own session."""
    world = DiagnosedCluster()
    world.create_node("/e", b"1", 7)
    plan = world.repair(fix_of(deletion("/e", session_id=7)))
    back = undo(world, plan)
    assert back.ops == ()
    assert back.skipped == {"/e": "it belonged to session 0x7: only its owner can create it again"}


def test_nodes_that_were_written_since_are_not_undone() -> None:
    """An undo skips nodes that were written, deleted or created again since."""
    steps = (
        Write(path="/a", before=b"1", after=None, session_id=0),
        Write(path="/b", before=b"1", after=b"2", session_id=0),
        Write(path="/c", before=b"1", after=b"2", session_id=0),
    )
    world = world_of(a=b"9", b=b"9")
    record = UndoRecord(zookeeper="zk", made_ms=5, writes=steps)
    back = plan_undo(record, {step.path: world.tree.get(step.path) for step in steps})
    assert back == UndoPlan(
        ops=(),
        skipped={
            "/a": "it was created again",
            "/b": "it was written since",
            "/c": "it is gone",
        },
    )


def test_the_last_write_is_undone_first() -> None:
    """The last write is undone first, so that parents exist before their children."""
    steps = (
        Write(path="/a/b", before=b"", after=None, session_id=0),
        Write(path="/a", before=b"", after=None, session_id=0),
    )
    back = plan_undo(UndoRecord(zookeeper="zk", made_ms=5, writes=steps), {})
    assert back.ops == (CreateOp("/a", b""), CreateOp("/a/b", b""))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "is not an undo file"),
        ("[]", "is not an undo file"),
        ('{"format":"other"}', "is not an undo file"),
        ('{"format":"zkconsumer doctor undo","version":2}', "has version 2"),
        ('{"format":"zkconsumer doctor undo","version":1}', "is damaged"),
    ],
)
def test_other_files_are_refused(text: str, why: str) -> None:
    """Another file is refused with its name."""
    with pytest.raises(ConfigError, match=f"f.json {why}"):
        decode_undo(text, "f.json")


@pytest.mark.parametrize(
    ("sound", "damaged"),
    [
        ('"/a"', '"a"'),
        ('{"text": "1"}', '{"base64": "?"}'),
        ('{"text": "1"}', '{"text": "1", "more": 1}'),
        ('"session_id": 0', '"session_id": true'),
        ('"zk"', "7"),
    ],
)
def test_damaged_files_are_refused(sound: str, damaged: str) -> None:
    """A damaged undo file is refused, wherever the damage is."""
    step = Write(path="/a", before=b"1", after=None, session_id=0)
    text = encode_undo(UndoRecord(zookeeper="zk", made_ms=5, writes=(step,)))
    assert sound in text
    with pytest.raises(ConfigError, match="is damaged"):
        decode_undo(text.replace(sound, damaged), "f.json")


def test_sessions_are_written_as_zookeeper_does() -> None:
    """Session ids are written unsigned in hex, as by ZooKeeper, also negative ones."""
    assert session_name(-1) == "session 0xffffffffffffffff"
    assert session_name(0) == "no session"
    assert session_name(None) == "an unknown session"


def test_a_node_that_was_not_read_counts_as_gone() -> None:
    """A node that was not read counts as gone, and is not written."""
    fix = fix_of(deletion("/a"))
    assert plan_fix(fix, {}, {}).skipped == {"/a": "it is gone"}
