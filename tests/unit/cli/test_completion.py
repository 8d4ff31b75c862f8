import sys

import pytest

from zkconsumer.cli import completion
from zkconsumer.cli.main import main


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_a_completion_script(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The script calls the command itself."""
    assert main(["completion", shell]) == 0
    printed = capsys.readouterr().out
    assert "zkconsumer" in printed
    assert "_ARGCOMPLETE" in printed


def test_without_argcomplete_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error is one line; a shell that completes gets nothing rather than a traceback."""
    monkeypatch.setitem(sys.modules, "argcomplete.shell_integration", None)
    monkeypatch.setitem(sys.modules, "argcomplete", None)
    assert main(["completion", "bash"]) == 2
    assert "pip install 'zkconsumer[cli]'" in capsys.readouterr().err
    monkeypatch.setenv("_ARGCOMPLETE", "1")
    completion.complete_shell()
