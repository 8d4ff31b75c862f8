import argparse
from collections.abc import Iterator

import pytest

from zkconsumer.cli.commands import every_command
from zkconsumer.cli.parsing import (
    Called,
    Parser,
    build_parser,
    called,
    commands_of,
    innermost,
    options_of,
    parse,
    parser_for,
    without_help_command,
)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], Called(None, None)),
        (["lag", "--cluster", "x"], Called("lag", None)),
        (["--debug", "--cluster", "plant", "lag"], Called("lag", "plant")),
        (["--cluster=plant", "lag"], Called("lag", "plant")),
        (["--cluster"], Called(None, None)),
    ],
)
def test_the_command_is_found_among_the_arguments(words: list[str], expected: Called) -> None:
    """It is found after options with a value, too."""
    assert called(words) == expected


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["consum"], "there is no command 'consum': did you mean consume?"),
        (["xyzzy"], "there is no command 'xyzzy' (see zkconsumer --help)"),
    ],
)
def test_an_unknown_command_is_a_one_line_error(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit status is 2, and the nearest command is suggested."""
    with pytest.raises(SystemExit) as ended:
        parser_for(words)
    reported = capsys.readouterr().err
    assert ended.value.code == 2
    assert message in reported
    assert reported.count("\n") == 1


def test_the_innermost_parser_is_found() -> None:
    """The parser of a subcommand is found through its parents."""
    words = ["sandbox", "up", "--brokers", "3"]
    assert innermost(parser_for(words), words).prog == "zkconsumer sandbox up"


def valued_options(
    parser: argparse.ArgumentParser,
) -> Iterator[tuple[argparse.ArgumentParser, str, argparse.Action]]:
    """Yield every option that takes a value, of a command and its subcommands."""
    for below in commands_of(parser).values():
        yield from valued_options(below)
    for flag, action in options_of(parser).items():
        if action.nargs is None:
            yield parser, flag, action


def test_no_repeated_option_is_ignored_silently(capsys: pytest.CaptureFixture[str]) -> None:
    """For every option, a second value is either an error or counts beside the first."""
    refusing = set()
    for parser, flag, action in valued_options(build_parser()):
        args = argparse.Namespace()
        action(parser, args, ["a"], flag)
        action(parser, args, ["a"], flag)  # the same value again is allowed
        try:
            action(parser, args, ["b"], flag)
        except SystemExit:
            error = f"{flag} is given twice, ['a'] and ['b']: give it once"
            assert error in capsys.readouterr().err
            refusing.add((parser.prog, flag))
        else:
            assert {"a", "b"} <= {text for value in getattr(args, action.dest) for text in value}
    assert ("zkconsumer mirror", "--group") in refusing
    assert ("zkconsumer lag", "--group") not in refusing
    assert len(refusing) > 200


def test_a_second_value_is_refused_even_after_the_default(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Giving the default counts as giving a value; each parse starts without former values."""
    parser = Parser(prog="p")
    parser.add_argument("--timeout-ms", type=int, default=5)
    parser.add_argument("--most", type=lambda text: None if text == "all" else int(text))
    for repeated in ([], ["--timeout-ms", "5"], ["--timeout-ms", "7"], ["--most", "all"]):
        assert parser.parse_args([*repeated, *repeated]) == parser.parse_args(repeated)
    for flag, first, second in (("--timeout-ms", "5", "7"), ("--most", "all", "3")):
        with pytest.raises(SystemExit):
            parser.parse_args([flag, first, flag, second])
        assert f"{flag} is given twice" in capsys.readouterr().err


@pytest.mark.parametrize("command", every_command())
def test_every_command_can_be_loaded(command: tuple[str, str, str | None]) -> None:
    """Each command has a parser with a description."""
    parser = parser_for([command[0]])
    described = innermost(parser, [command[0]])
    assert described.prog == f"zkconsumer {command[0]}"
    assert described.description


def test_a_cluster_may_have_the_name_of_a_command() -> None:
    """Such a name is not taken for the command, so global options may follow it."""
    words = ["--cluster", "lag", "--debug", "lag", "--zookeeper", "z:2181"]
    args = parse(parser_for(words), words)
    assert args.debug


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["produce", "--topci", "t"],
            "zkconsumer produce: unknown option '--topci': did you mean --topic?",
        ),
        (["lag", "--max-lags=1"], "zkconsumer lag: unknown option '--max-lags': did you mean"),
        (
            ["serve", "--cluster", "x"],
            "zkconsumer serve: --cluster has to precede the command: "
            "zkconsumer --cluster NAME serve ...",
        ),
        (
            ["produce", "--cluster=x"],  # which lacks a --topic
            "zkconsumer produce: --cluster has to precede the command: ",
        ),
        (
            ["lag", "--debug"],
            "zkconsumer lag: --debug has to precede the command: zkconsumer --debug lag ...",
        ),
    ],
)
def test_a_misspelt_flag_is_reported_even_if_a_required_one_is_missing(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error suggests the nearest flag instead of reporting the missing one."""
    with pytest.raises(SystemExit) as ended:
        parse(parser_for(words), words)
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith(message)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["help"], ["--help"]),
        (["help", "lag"], ["lag", "--help"]),
        (["help", "offsets", "set"], ["offsets", "set", "--help"]),
        (["lag", "--group", "help"], ["lag", "--group", "help"]),
    ],
)
def test_help_is_a_command(words: list[str], expected: list[str]) -> None:
    """``help`` works as in git, and other arguments are left as they are."""
    assert list(without_help_command(words)) == expected


def every_parser(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield a parser and those of all its subcommands."""
    yield parser
    for below in commands_of(parser).values():
        yield from every_parser(below)


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_the_help_of_every_command_fits_the_terminal(
    monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    """Usage and help are wrapped to any width without losing a word."""
    parsers = list(every_parser(build_parser()))
    assert len(parsers) > 30
    for parser in parsers:
        monkeypatch.setenv("COLUMNS", "1000")
        words = parser.format_help().split()
        monkeypatch.setenv("COLUMNS", str(columns))
        for text in (parser.format_help(), parser.format_usage()):
            assert [line for line in text.splitlines() if len(line) > columns] == [], parser.prog
        shown = [word for word in parser.format_help().split() if word != "\\"]
        assert [word for word in words if word != "\\"] == shown, parser.prog


def test_help_is_shown_on_a_terminal_of_one_column(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines that cannot fit are longer, as in argparse itself."""
    monkeypatch.setenv("COLUMNS", "1")
    for parser in every_parser(build_parser("serve")):
        assert parser.format_help()


def test_a_wrapped_example_can_be_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its lines continue with a backslash, and its comment is below."""
    monkeypatch.setenv("COLUMNS", "60")
    parser = build_parser("doctor")
    text = commands_of(parser)["doctor"].format_help()
    assert (
        "  zkconsumer doctor --zookeeper zk1:2181 --group loader \\\n      --fix\n"
        "  zkconsumer doctor --bootstrap-server kafka1:9092\n      (without a ZooKeeper)\n"
    ) in text
