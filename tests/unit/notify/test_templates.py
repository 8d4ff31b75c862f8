"""The messages in each target's format."""

import json
from dataclasses import replace
from email import message_from_bytes
from email.policy import SMTP

from hypothesis import given
from hypothesis import strategies as st

from tests.support.alerting import COMMAND, SETTLEMENT, alert, message
from zkconsumer.notify import templates
from zkconsumer.notify.outbox import Status
from zkconsumer.notify.templates import NotificationOrigin
from zkconsumer.status.doctor.diagnosis import Severity
from zkconsumer.status.model import GroupKey, GroupKind

ORIGIN = NotificationOrigin(cluster="plant", page="https://kafka.example/page/")
RESOLVED = message(Status.RESOLVED)


def test_slack_gets_the_trouble_the_evidence_and_the_remedy() -> None:
    """A batch is one post."""
    text = json.loads(templates.as_slack([message(), RESOLVED], ORIGIN))["text"]
    assert text.split("\n") == [
        "*plant*",
        "",
        ":red_circle: *ERROR settlement is stuck: settlement_host7 is registered but gone*",
        "It is stuck.",
        "  - settlement_host7 is registered but gone",
        "42 records behind",
        "What helps: Delete it.",
        f"`{COMMAND}`",
        "zookeeper group settlement, since 2026-11-20T09:36:00Z",
        "https://kafka.example/page/groups/zookeeper/settlement",
        "",
        ":large_green_circle: *RESOLVED after 5 min: settlement is stuck: settlement_host7 is "
        "registered but gone*",
        "zookeeper group settlement, since 2026-11-20T09:36:00Z",
        "https://kafka.example/page/groups/zookeeper/settlement",
    ]


def test_pagerduty_gets_one_incident_per_group() -> None:
    """Trigger and resolve have the same key."""
    event = templates.pagerduty("key")
    begin, end = (
        json.loads(event([notification], ORIGIN)) for notification in (message(), RESOLVED)
    )
    assert begin["event_action"] == "trigger"
    assert begin["routing_key"] == "key"
    assert begin["payload"]["severity"] == "error"
    assert begin["payload"]["summary"] == (
        "ERROR settlement is stuck: settlement_host7 is registered but gone"
    )
    assert begin["payload"]["custom_details"]["command"] == COMMAND
    assert begin["payload"]["source"] == "plant"
    assert end == {
        "routing_key": "key",
        "event_action": "resolve",
        "dedup_key": begin["dedup_key"],
    }


def test_alertmanager_gets_constant_labels() -> None:
    """An alert with another severity, text or end has the same labels."""
    worse = message(Status.WORSE, alert(severity=Severity.WARNING, what="Another."))
    alerts = json.loads(templates.as_alertmanager([message(), worse, RESOLVED], ORIGIN))
    assert [item["labels"] for item in alerts] == 3 * [
        {
            "alertname": "ZkconsumerTrouble",
            "cluster": "plant",
            "group": "settlement",
            "kind": "zookeeper",
        }
    ]
    assert [item["endsAt"] for item in alerts] == [
        "2026-11-20T09:46:00Z",
        "2026-11-20T09:46:00Z",
        "2026-11-20T09:41:00Z",
    ]


def test_a_command_gets_environment_variables() -> None:
    """Unknown values are empty."""
    found = templates.variables(message(about=alert(None)), NotificationOrigin(cluster="zk:2181"))
    assert found["ZKCONSUMER_STATUS"] == "firing"
    assert found["ZKCONSUMER_GROUP"] == ""
    assert found["ZKCONSUMER_SEVERITY"] == "error"
    assert found["ZKCONSUMER_URL"] == ""


def test_every_target_gets_the_headline_of_the_banner_and_the_command() -> None:
    """These are the group, the cause, the member, and the command to paste."""
    cause, messages = "settlement is stuck: settlement_host7 is registered but gone", [message()]
    mail = templates.mail(messages, ORIGIN, sender="a@b.c", receivers=["d@e.f"])
    assert mail["Subject"] == f"[plant] ERROR {cause}"
    [alertmanager] = json.loads(templates.as_alertmanager(messages, ORIGIN))
    assert alertmanager["annotations"]["summary"] == f"ERROR {cause}"
    [sent] = json.loads(templates.as_json(messages, ORIGIN))["messages"]
    variables = templates.variables(messages[0], ORIGIN)
    assert variables["ZKCONSUMER_HEADLINE"] == sent["headline"] == f"ERROR {cause}"
    assert variables["ZKCONSUMER_COMMAND"] == sent["command"] == COMMAND
    assert alertmanager["annotations"]["command"] == COMMAND
    for text in (mail.get_content(), templates.plain_text(messages[0], ORIGIN)):
        assert COMMAND in text.split("\n")
    for status, begin in (
        (Status.WORSE, "ERROR, worse than before: "),
        (Status.REMINDER, "ERROR for 5 min now: "),
    ):
        assert templates.headline(message(status)) == begin + cause


def test_a_command_that_a_target_would_change_is_left_out() -> None:
    """People would paste half a command, or one for another group, all the same."""
    for command, shown in (
        ("zkconsumer doctor --group 'a&b <c>'", "`zkconsumer doctor --group 'a&amp;b &lt;c&gt;'`"),
        ("zkconsumer doctor --group 'a`b'", None),
        ("zkconsumer doctor --group @all", None),
        (f"zkconsumer doctor --group {'x' * 2_000}", None),
        ("zkconsumer doctor --group 'a\u200b'", None),
    ):
        stuck = alert()
        stuck = replace(stuck, trouble=replace(stuck.trouble, command=command))
        lines = json.loads(templates.as_slack([message(about=stuck)], ORIGIN))["text"].split("\n")
        assert [line for line in lines if "zkconsumer doctor" in line] == ([shown] if shown else [])


def test_long_ids_stay_different() -> None:
    """Shortened ids end in a digest."""
    keys = [GroupKey(GroupKind.ZOOKEEPER, "g" * 400 + end) for end in "ab"]
    ids = {templates.alert_id(message(about=alert(key)), ORIGIN) for key in keys}
    assert [len(member_id) for member_id in ids] == [250, 250]


@given(st.text(max_size=40), st.text(max_size=200))
def test_foreign_names_are_plain_text(group_id: str, text_of_trouble: str) -> None:
    """They bring no header, markup, line or NUL into a message."""
    notification = message(
        about=alert(GroupKey(GroupKind.COORDINATOR, group_id), what=text_of_trouble)
    )
    origin = NotificationOrigin(cluster=group_id)
    mail = templates.mail([notification], origin, sender="a@b.c", receivers=["d@e.f"])
    read = message_from_bytes(mail.as_bytes(policy=SMTP), policy=SMTP)
    assert read.keys() == mail.keys()
    assert all("\0" not in value for value in templates.variables(notification, origin).values())
    text = json.loads(templates.as_slack([notification], origin))["text"]
    assert not {"<", ">"} & set(text)
    assert text.count("`") == 2
    assert text.count("@") == text.count("@\N{ZERO WIDTH SPACE}")
    assert text.count("\n") <= 9
    for body in (templates.as_json, templates.as_alertmanager, templates.pagerduty("k")):
        assert json.loads(body([notification], origin))


def test_ids_name_the_subject() -> None:
    """The cluster has an id, too."""
    assert templates.alert_id(message(), ORIGIN) == f"zkconsumer/plant/zookeeper/{SETTLEMENT[1]}"
    assert templates.alert_id(message(about=alert(None)), ORIGIN) == "zkconsumer/plant/cluster"
