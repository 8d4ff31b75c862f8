"""Whole drains of real clusters by the local engine, without any Java installed."""

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from tests.support import warm
from tests.support.clusters import BrokerOf, fresh_name, unclean_election
from tests.support.drain_kills import command
from tests.support.s3_server import BUCKET, s3_server
from tests.support.traffic import partitions_of, write
from zkconsumer.drain import DrainSettings, drain_locally, verify_locally
from zkconsumer.drain.landing_files import FilesLanding
from zkconsumer.drain.manifest import Manifest
from zkconsumer.drain.plan import BatchPlan
from zkconsumer.drain.protocols import ProgressListener
from zkconsumer.drain.proving.proof import Difference, ProofOutcome
from zkconsumer.drain.proving.report import as_text
from zkconsumer.errors import DrainError
from zkconsumer.model import TopicPartition
from zkconsumer.records.codecs import Codec
from zkconsumer.sandbox import Sandbox

pytestmark = [pytest.mark.sandbox]

_SECONDS = 160


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run a command with neither PATH nor JAVA_HOME leading to a Java."""
    bare = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    return warm.run(
        command(*arguments),
        capture_output=True,
        text=True,
        check=False,
        timeout=_SECONDS,
        env={**bare, "PATH": ""},
    )


@pytest.mark.parametrize("version", ["0.8.2.2", "3.9.1"])
def test_topics_are_landed_and_proven_without_java(
    broker_of: BrokerOf, version: str, tmp_path: Path
) -> None:
    """It is the README's first drain, from the oldest broker and the last one with ZooKeeper."""
    sandbox = broker_of(version)
    topic = fresh_name("local")
    sandbox.create_topic(topic, partitions=3)
    for number, codec in enumerate((Codec.NONE, Codec.GZIP, Codec.SNAPPY)):
        for _ in range(3):
            write(
                sandbox,
                TopicPartition(topic, number),
                [b"m%d" % at for at in range(50)],
                codec=codec,
            )
    where = ("--zookeeper", sandbox.zookeeper_connect)
    drained = run("drain", *where, "--topics", topic, "--to", str(tmp_path / "lake"))
    assert drained.returncode == 0, drained.stderr
    assert "Landed 450 messages in 1 batches" in drained.stderr
    verified = run("drain", "verify", str(tmp_path / "lake"), *where)
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert verified.stdout.count("same in [0, 150)") == 3
    assert "PROVEN" in verified.stdout


def settings_for(sandbox: Sandbox, topic: str, path: Path) -> DrainSettings:
    """Return settings for Parquet, in batches of about 20 messages."""
    return DrainSettings(
        path=str(path),
        zookeeper=sandbox.zookeeper_connect,
        topics=(topic,),
        max_offsets_per_batch=20,
    )


@pytest.fixture
def topic(cluster: Sandbox) -> str:
    """Create two partitions with 30 messages each."""
    name = fresh_name("local")
    cluster.create_topic(name, partitions=2)
    for tp in partitions_of(name, 2):
        write(cluster, tp, [b"m%d" % at for at in range(30)])
    return name


class Rival(ProgressListener):
    """Runs another drain to the same path while the first one is landing a batch."""

    def __init__(self, settings: DrainSettings) -> None:
        self._settings = settings
        self.landed = 0
        self.refusal = ""

    def on_landing(self, plan: BatchPlan) -> None:
        """See ``ProgressListener``."""
        del plan
        self.run_once()

    def run_once(self) -> None:
        """Run the other drain, at the first call."""
        if not self.landed and not self.refusal:
            try:
                self.landed = drain_locally(self._settings).rows
            except DrainError as error:
                self.refusal = str(error)


def test_the_second_of_two_drains_is_refused(cluster: Sandbox, topic: str, tmp_path: Path) -> None:
    """In a folder it is refused at its start; the first one goes on, and so does a later run."""
    settings = settings_for(cluster, topic, tmp_path)
    rival = Rival(settings)
    assert drain_locally(settings, listener=rival).rows == 60
    assert not rival.landed
    assert rival.refusal == (
        f"another drain is running on {tmp_path}: its process has locked "
        f"{tmp_path}/_zkconsumer/drain.json. Nothing was done; run only one of them"
    )
    check_proven(settings)
    assert drain_locally(settings).rows == 0


def test_one_of_two_drains_in_a_bucket_ends(cluster: Sandbox, topic: str) -> None:
    """Buckets have no locks: the drain that is second to land a batch ends; nothing lands twice."""
    with s3_server():
        settings = replace(settings_for(cluster, topic, Path()), path=f"s3://{BUCKET}/drain")
        rival = Rival(settings)
        with pytest.raises(DrainError, match="another drain is running on"):
            drain_locally(settings, listener=rival)
        assert rival.landed
        check_proven(settings)


def test_a_batch_that_another_drain_has_published_is_published_again(
    cluster: Sandbox, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a bucket, of which the other drain has moved all files, and landed all batches since."""
    publish = FilesLanding.publish
    with s3_server():
        settings = replace(settings_for(cluster, topic, Path()), path=f"s3://{BUCKET}/drain")
        rival = Rival(settings)
        before = iter([rival.run_once])  # once: the rival publishes, too

        def publish_late(landing: FilesLanding, plan: BatchPlan, manifest: Manifest) -> None:
            for run_rival in before:
                run_rival()
            publish(landing, plan, manifest)

        monkeypatch.setattr(FilesLanding, "publish", publish_late)
        with pytest.raises(DrainError, match="another drain is running on"):
            drain_locally(settings)
        assert rival.landed == 60
        check_proven(settings)


def check_proven(settings: DrainSettings) -> None:
    """Check that the drain is proven, which includes the cluster's messages."""
    proof = verify_locally(settings.path, cluster={"zookeeper.connect": settings.zookeeper or ""})
    assert proof.outcome is ProofOutcome.PROVEN, as_text(proof)


def test_a_delta_tables_log_has_the_offsets_of_each_batch(
    cluster: Sandbox, topic: str, tmp_path: Path
) -> None:
    """The proof compares them with the manifests; expired log entries are no fault."""
    settings = replace(settings_for(cluster, topic, tmp_path), format="delta")
    assert drain_locally(settings).batches == 3
    assert verify_locally(settings.path).outcome is ProofOutcome.PROVEN
    log = sorted((tmp_path / "_delta_log").glob("*.json"))
    metadata = [json.loads(delta_info(entry)["userMetadata"]) for entry in log]
    drain = metadata[0]["zkconsumer.drain"]
    assert metadata[0] == {"zkconsumer.drain": drain}
    assert [properties["zkconsumer.batch"] for properties in metadata[1:]] == ["1", "2", "3"]
    spans = [json.loads(properties["zkconsumer.offsets"])[topic] for properties in metadata[1:]]
    for partition in ("0", "1"):
        found = [span[partition] for span in spans]
        assert [begin for begin, _ in found] == [0, *(end for _, end in found[:-1])]
        assert found[-1][1] == 30
    whole = log[2].read_text()
    log[2].write_text(whole.replace(f"{spans[1]['0'][1]}]", "29]", 1))
    proof = verify_locally(settings.path)
    assert proof.outcome is ProofOutcome.NOT_PROVEN
    assert proof.problems == [
        "1 batches have other offsets in the table's commits than were landed: 2"
    ]
    log[2].write_text(whole)
    DeltaTable(settings.path).create_checkpoint()
    for entry in log[:2]:
        entry.unlink()
    assert verify_locally(settings.path).outcome is ProofOutcome.PROVEN


def delta_info(entry: Path) -> dict[str, str]:
    """Return the commit info of an entry of a Delta table's log."""
    actions = map(json.loads, entry.read_text().splitlines())
    return next(action["commitInfo"] for action in actions if "commitInfo" in action)


def test_damage_and_loss_are_reported(cluster: Sandbox, topic: str, tmp_path: Path) -> None:
    """One file is missing, one is truncated, and both differ from the cluster."""
    settings = settings_for(cluster, topic, tmp_path)
    where = {"zookeeper.connect": settings.zookeeper or ""}
    drain_locally(settings)
    gone, cut, *_ = sorted(tmp_path.glob("topic=*/*/*.parquet"))
    held = sum(pq.read_metadata(path).num_rows for path in (gone, cut))
    assert held
    gone.unlink()
    cut.write_bytes(cut.read_bytes()[:-20])
    proof = verify_locally(settings.path, cluster=where)
    assert proof.outcome is ProofOutcome.NOT_PROVEN
    text = as_text(proof)
    assert gone.name in text
    assert cut.name in text
    checks = [of.cluster for of in proof.partitions if of.cluster is not None]
    missing = [check.differing.get(Difference.ONLY_IN_CLUSTER) for check in checks]
    assert sum(differing.count for differing in missing if differing is not None) == held


@pytest.mark.parametrize("brokers", ["cluster3", "modern3"])
def test_a_log_truncated_by_an_unclean_election(
    brokers: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """While it is shorter than what was landed the drain stops; later a proof reports it.

    The log is cut to what the other replica knew to be committed, which may be less than it had on
    old brokers.
    """
    sandbox: Sandbox = request.getfixturevalue(brokers)
    topic = fresh_name("local-unclean")
    sandbox.create_topic(topic, assignment={0: [0, 1]})
    tp = TopicPartition(topic, 0)
    quick = {"kafka.request.timeout.ms": "3000"}
    settings = replace(settings_for(sandbox, topic, tmp_path), options=quick)
    write(sandbox, tp, [b"both"] * 10)

    def land_more() -> None:
        write(sandbox, tp, [b"one"] * 5)
        assert drain_locally(settings).rows == 15

    with unclean_election(sandbox, topic, land_more):
        with pytest.raises(DrainError, match="logs end before"):
            drain_locally(settings)
        cut_at = write(sandbox, tp, [b"anew"] * 20)
        assert cut_at <= 10
        assert drain_locally(settings).rows == cut_at + 20 - 15
        where = {"zookeeper.connect": settings.zookeeper or ""}
        text = as_text(verify_locally(settings.path, cluster=where))
    differing = f"{15 - cut_at} messages differ from the cluster's (content), from offset {cut_at}"
    assert f"{differing} to 14" in text
    assert "NOT PROVEN" in text
