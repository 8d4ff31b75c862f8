"""``[notify]`` of the configuration file."""

from pathlib import Path

import pytest

from zkconsumer.cli.configuration import parse_configuration
from zkconsumer.errors import ConfigError
from zkconsumer.notify.quiet import QuietHours
from zkconsumer.notify.settings import NotifySettings, read_notify_settings
from zkconsumer.notify.targets import CommandTarget, HttpTarget, MailTarget
from zkconsumer.status.doctor.diagnosis import Severity


def settings(text: str) -> NotifySettings:
    """Return the settings of a file."""
    return read_notify_settings(parse_configuration(text, "c.toml").notify)


def test_a_whole_file_is_read(tmp_path: Path) -> None:
    """Targets inherit the common settings, and may override them."""
    secret = tmp_path / "key"
    secret.write_text("R0\n")
    found = settings(
        f"""
        [notify]
        after-ms = 120000
        silence = ["test-.*"]
        quiet = {{ from = "22:00", to = "07:00", zone = "Europe/Berlin", days = ["fri", "sat"] }}
        page-url = "https://kafka.example"
        [notify.to.chat]
        type = "slack"
        url = "https://hooks.slack.com/services/T/B/X"
        [notify.to.pager]
        type = "pagerduty"
        routing-key-file = "{secret}"
        severity = "error"
        quiet = []
        silence = ["batch"]
        [notify.to.prometheus]
        type = "alertmanager"
        url = "http://am:9093/"
        [notify.to.mail]
        type = "email"
        host = "mail.example"
        from = "kafka@example.org"
        to = ["ops@example.org"]
        user = "kafka"
        password-file = "{secret}"
        [notify.to.script]
        type = "command"
        argv = ["/usr/bin/wall", "-n"]
        repeat-ms = 3600000
        """
    )
    routes = {route.name: route for route in found.routes}
    chat, pager = routes["chat"].policy, routes["pager"].policy
    assert found.timing.after_ms == 120_000
    assert isinstance(chat.quiet[0], QuietHours)
    assert chat.quiet[0].days == {4, 5}
    assert pager.quiet == ()
    assert pager.severity is Severity.ERROR
    assert [pattern.pattern for pattern in pager.silenced] == ["test-.*", "batch"]
    assert pager.batch == 1
    prometheus = routes["prometheus"].target
    assert isinstance(prometheus, HttpTarget)
    assert prometheus.url.geturl() == "http://am:9093/api/v2/alerts"
    assert routes["prometheus"].policy.repeat_ms == 60_000
    mail = routes["mail"].target
    assert isinstance(mail, MailTarget)
    assert (mail.port, mail.password, mail.security) == (587, "R0", "starttls")
    assert isinstance(routes["script"].target, CommandTarget)
    assert routes["script"].policy.repeat_ms == 3_600_000
    assert "R0" not in repr(found)
    assert "services" not in repr(found)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("after = 5", "[notify] has no after: did you mean after-ms?"),
        ("timeout-ms = 5000", "[notify] has no timeout-ms"),
        ("after-ms = true", "a number from 0"),
        ("severity = 'note'", "one of warning, error"),
        ("silence = ['(']", "not a regular expression"),
        ("quiet = { from = '22:00', to = '07:00' }", "needs zone"),
        ("quiet = { from = '25:00', to = '07:00', zone = 'UTC' }", "a time like 22:00"),
        ("quiet = { from = '22:00', to = '07:00', zone = 'Mars/Base' }", "a time zone like"),
        ("[notify.to.x]\ntype = 'sms'", "one of http, slack"),
        ("[notify.to.x]\ntype = 'slack'", "needs url or url-file"),
        ("[notify.to.x]\ntype = 'slack'\nurl = 'ftp://secret'", "must be an http:// or"),
        ("[notify.to.x]\ntype = 'slack'\nurl-file = '/nowhere'", "can't be read"),
        ("[notify.to.x]\ntype = 'http'\nurl = 'http://a'\nurls = 'b'", "has no urls"),
        ("[notify.to.x]\ntype = 'pagerduty'", "needs routing-key-file"),
        ("[notify.to.x]\ntype = 'slack'\nurl = \"secret\\n\"", "one line of text"),
        ("[notify.to.x]\ntype = 'command'\nargv = []", "needs argv"),
        ("[notify.to.x]\ntype = 'email'\nto = ['a@b', \"c@d\\nBcc: e@f\"]", "a list of strings"),
        ("[notify.to.x]\ntype = 'email'\nto = ['a@b,c@d']", "a list of e-mail addresses"),
        ("[notify.to.x]\ntype = 'email'\nto = ['a@b']\nfrom = 'x@y'\nuser = 'u'", "or neither"),
    ],
)
def test_an_invalid_setting_is_refused_with_the_reason(text: str, reason: str) -> None:
    """The error has the reason, and no secret."""
    with pytest.raises(ConfigError) as refused:
        settings(f"[notify]\n{text}")
    assert reason in str(refused.value)
    assert "secret" not in str(refused.value)


def test_without_a_table_there_is_no_target() -> None:
    """The file may have other tables only."""
    assert settings("zookeeper = 'zk:1'").routes == ()
