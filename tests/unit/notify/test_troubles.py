"""What a state says of its groups."""

from dataclasses import replace

from tests.support.page_world import BILLING, CHECKOUT, FRAUD, SETTLEMENT, state_at
from zkconsumer.notify.troubles import Condition, GroupObservation, observe
from zkconsumer.status.doctor.diagnosis import Severity
from zkconsumer.status.model import GroupKey
from zkconsumer.web.pages.group_rows import group_row
from zkconsumer.web.pages.words import Tone
from zkconsumer.web.state import ClusterState


def conditions(observation: GroupObservation) -> dict[GroupKey | None, Condition]:
    """Return them by subject."""
    return {condition.subject: condition for condition in observation.conditions}


def state() -> ClusterState:
    """Return what the page's tests show, as a state of a full read."""
    return replace(state_at(), problem=None, covered=None)


def test_the_worst_finding_of_each_group_is_its_trouble() -> None:
    """As the page and doctor judge it; notes are no trouble."""
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


def test_a_trouble_is_told_as_the_banner_tells_it() -> None:
    """With the command that the page shows; of Burrow's verdict, too, and of the cluster."""
    found = conditions(observe(state()))
    connect = "--zookeeper zk1:2181,zk2:2181,zk3:2181/shop"
    for key, severity, said, command in (
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
        told = found[key].trouble
        assert told is not None
        assert (told.severity, told.headline, told.command) == (severity, said, command)


def test_what_is_green_on_the_page_is_no_trouble() -> None:
    """And what is not is one, as bad as there: a group is judged once."""
    shown = state()
    tones = {Severity.WARNING: Tone.WARN, Severity.ERROR: Tone.BAD}
    for key, condition in conditions(observe(shown)).items():
        if key is not None:
            told = condition.trouble
            verdict = group_row(shown, key).verdict
            assert verdict.is_bad == (told is not None)
            if told is not None:
                assert tones[told.severity] is verdict.tone
                assert told.headline == verdict.sentence


def test_a_cluster_that_cant_be_read_says_so_and_nothing_of_its_groups() -> None:
    """It is the cluster's trouble."""
    found = observe(replace(state(), problem="no server answers"))
    assert found.present is None
    (only,) = found.conditions
    assert only.subject is None
    assert only.trouble is not None
    assert only.trouble.headline == "The cluster can't be read now"
    assert only.trouble.what == "The cluster can't be read: no server answers"
    assert only.trouble.command.startswith("zkconsumer doctor --zookeeper zk1:2181,")


def test_before_the_first_read_nothing_is_wrong() -> None:
    """It is being read."""
    assert observe(replace(state(), problem="reading", number=0)).conditions == ()


def test_a_look_at_one_group_says_nothing_of_others() -> None:
    """They are as they were."""
    found = observe(replace(state(), covered=frozenset([BILLING])))
    assert found.conditions[0].subject == BILLING
    assert len(found.conditions) == 1
    assert FRAUD in (found.present or ())
