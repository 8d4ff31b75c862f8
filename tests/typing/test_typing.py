"""What type checkers say to users' programs: good ones pass, and a typo is reported at its line."""

import re
import sys
import typing
from pathlib import Path

import pytest

from zkconsumer import ConsumerConfig, ConsumerSettings, KafkaConsumerSettings
from zkconsumer.config_security import JAVA_KEYS
from zkconsumer.consumer.config import PollConfig

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
MARK = re.compile(r"# E: (.*)$")


@pytest.mark.timeout(300)  # it reads the whole package where `make types` has not run before
def test_mypy_accepts_and_refuses_what_it_should() -> None:
    """Both files in one run: each marked line is an error that says why, and nothing else is."""
    api = pytest.importorskip("mypy.api")
    files = [str(HERE / name) for name in ("accepted.py", "refused.py")]
    limit = sys.getrecursionlimit()
    try:
        out, err, _ = api.run(["--strict", "--config-file", str(ROOT / "setup.cfg"), *files])
    finally:
        sys.setrecursionlimit(limit)  # mypy raises it for the whole process
    assert err == ""
    found: dict[int, str] = {}
    others = []
    for line in out.splitlines():
        matched = re.match(r"(.*refused\.py):(\d+): error: (.*)", line)
        if matched:
            found[int(matched[2])] = found.get(int(matched[2]), "") + matched[3]
        elif ": error: " in line:
            others.append(line)
    assert others == []
    lines = (HERE / "refused.py").read_text("utf-8").splitlines()
    expected = {
        number: mark[1] for number, text in enumerate(lines, 1) if (mark := MARK.search(text))
    }
    assert len(expected) > 10
    assert found.keys() == expected.keys()
    assert [found[number] for number in expected if expected[number] not in found[number]] == []


def test_what_is_typed_is_what_there_is() -> None:
    """Every attribute of a configuration is a keyword argument, and its type can be looked up."""
    java = {key.replace(".", "_") for key in JAVA_KEYS}
    typed = typing.get_type_hints(ConsumerSettings)
    assert typed.keys() - java == set(typing.get_type_hints(ConsumerConfig))
    typed = typing.get_type_hints(KafkaConsumerSettings)
    refused = {"proxy_url", "socks5_proxy", "sasl_kerberos_name"}
    assert set(PollConfig()) - refused <= typed.keys()
    assert typed.keys() & refused == set()
