"""``zkconsumer completion SHELL``: prints the shell code that completes commands and flags.

The shell then calls the command for each completion, by argcomplete's protocol, so that completions
match the installed version.
"""

import argparse
import os
import shlex

from zkconsumer.cli.parsing import build_parser, called
from zkconsumer.errors import ConfigError

_COMPLETING = "_ARGCOMPLETE"
_MISSING = "completions need argcomplete: pip install 'zkconsumer[cli]'"

DESCRIPTION = """\
Print the shell code that completes the commands and flags of zkconsumer. Put one of these lines
into the file that your shell reads when it starts:

  bash (~/.bashrc):                    eval "$(zkconsumer completion bash)"
  zsh  (~/.zshrc, after compinit):     eval "$(zkconsumer completion zsh)"
  fish (~/.config/fish/config.fish):   zkconsumer completion fish | source
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell")


def run(args: argparse.Namespace) -> int:
    """Print the shell's code."""
    try:
        from argcomplete.shell_integration import shellcode  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ConfigError(_MISSING) from error
    print(shellcode(["zkconsumer"], shell=args.shell))
    return 0


def complete_shell() -> None:
    """Respond to a shell's completion request and end the process; do nothing without one."""
    if _COMPLETING not in os.environ:
        return
    try:
        import argcomplete  # noqa: PLC0415 - an extra
    except ImportError:
        # A message would not be visible here.
        return
    argcomplete.autocomplete(build_parser(called(_words_before_cursor()).command or ""))


def _words_before_cursor() -> list[str]:
    """Return the words after the program's name; an open quote is accepted."""
    line = os.environ.get("COMP_LINE", "")
    try:
        words = shlex.split(line)
    except ValueError:
        words = line.split()
    return words[1:]
