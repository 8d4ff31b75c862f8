"""The troubles of a cluster and its groups."""

from dataclasses import replace

from tests.support.page_world import BILLING, CHECKOUT, FRAUD, SETTLEMENT, state_at
from zkconsumer.notify.troubles import Condition, GroupObservation, observe
from zkconsumer.status.doctor.diagnosis import Severity
from zkconsumer.status.model import GroupKey
from zkconsumer.web.pages.formatting import Tone
from zkconsumer.web.pages.group_rows import group_row
from zkconsumer.web.state import ClusterState


def conditions(observation: GroupObservation) -> dict[GroupKey | None, Condition]:
    """Return the conditions by subject."""
    return {condition.subject: condition for condition in observation.conditions}


def state() -> ClusterState:
    """Return the state of the page's tests as after a full read."""
    return replace(state_at(), problem=None, covered=None)


def test_the_worst_diagnosis_of_each_group_is_its_trouble() -> None:
    """It is judged as on the page and by the doctor; a note is no trouble."""
    shown = state()
    found = conditions(observe(shown))
    assert found.keys() == {None, *shown.snapshot.groups}
    for key, condition in found.items():
        bad = [
            finding
            for finding in shown.judgements.findings(key)
            if finding.severity is not Severity.NOTE
        ]
        if bad:
            assert condition.trouble is not None
            assert condition.trouble.severity >= bad[0].severity
    fraud = found[FRAUD].trouble
    assert fraud is not None
    assert fraud.severity is Severity.ERROR
    assert fraud.lag == shown.judgements.lag(FRAUD).total
    assert found[CHECKOUT].trouble is None


def test_a_trouble_has_the_headline_of_the_banner() -> None:
    """It has the command that the page shows, even for Burrow's status and for the cluster."""
    found = conditions(observe(state()))
    connect = "--zookeeper zk1:2181,zk2:2181,zk3:2181/shop"
    for key, severity, headline, command in (
        (
            SETTLEMENT,
            Severity.ERROR,
            "settlement is stuck: settlement_host7 is registered but gone",
            f"zkconsumer doctor --fix --group settlement {connect}",
        ),
        (
            BILLING,
            Severity.WARNING,
            "billing: makes progress, but falls further behind (orders-5)",
            f"zkconsumer doctor --group billing {connect}",
        ),
        (
            None,
            Severity.WARNING,
            "2 partitions are under-replicated",
            f"zkconsumer doctor {connect}",
        ),
    ):
        trouble = found[key].trouble
        assert trouble is not None
        assert (trouble.severity, trouble.headline, trouble.command) == (
            severity,
            headline,
            command,
        )


def test_a_group_has_a_trouble_if_the_page_does_not_show_it_green() -> None:
    """Page and notification share one judgement, with the same severity."""
    shown = state()
    tones = {Severity.WARNING: Tone.WARN, Severity.ERROR: Tone.BAD}
    for key, condition in conditions(observe(shown)).items():
        if key is not None:
            trouble = condition.trouble
            verdict = group_row(shown, key).verdict
            assert verdict.is_bad == (trouble is not None)
            if trouble is not None:
                assert tones[trouble.severity] is verdict.tone
                assert trouble.headline == verdict.sentence


def test_an_unreadable_cluster_has_one_trouble_and_its_groups_none() -> None:
    """It is a trouble of the cluster."""
    found = observe(replace(state(), problem="no server answers"))
    assert found.present is None
    (only,) = found.conditions
    assert only.subject is None
    assert only.trouble is not None
    assert only.trouble.headline == "The cluster can't be read now"
    assert only.trouble.what == "The cluster can't be read: no server answers"
    assert only.trouble.command.startswith("zkconsumer doctor --zookeeper zk1:2181,")


def test_before_the_first_read_there_is_no_trouble() -> None:
    """The cluster is still being read."""
    assert observe(replace(state(), problem="reading", number=0)).conditions == ()


def test_a_read_of_one_group_has_no_condition_of_others() -> None:
    """The others stay as they were."""
    found = observe(replace(state(), covered=frozenset([BILLING])))
    assert found.conditions[0].subject == BILLING
    assert len(found.conditions) == 1
    assert FRAUD in (found.present or ())
