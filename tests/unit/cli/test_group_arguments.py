"""How often ``--group`` can be given."""

import argparse

import pytest

from zkconsumer.cli.group_arguments import add_group_argument, add_groups_argument


def parser_of(*, many: bool) -> argparse.ArgumentParser:
    """A parser with one of them."""
    parser = argparse.ArgumentParser()
    if many:
        add_groups_argument(parser, "only this group")
    else:
        add_group_argument(parser, "the group")
    return parser


def test_every_group_counts() -> None:
    """In their order, each once; none means all."""
    parser = parser_of(many=True)
    words = ["--group", "b", "--group=a", "--group", "b"]
    assert parser.parse_args(words).group == ["b", "a"]
    assert parser.parse_args([]).group == []
    assert parser.parse_args(["--group", "c"]).group == ["c"]


def test_a_default_counts_where_none_is_given() -> None:
    """That of the configuration file is a text; the command line takes its place."""
    parser = parser_of(many=True)
    parser.set_defaults(group="filed")
    assert parser.parse_args([]).group == ["filed"]
    assert parser.parse_args(["--group", "a"]).group == ["a"]


def test_a_second_group_is_refused_where_one_is_meant(capsys: pytest.CaptureFixture[str]) -> None:
    """It used to take the place of the first; the same one again does no harm."""
    parser = parser_of(many=False)
    assert parser.parse_args([]).group is None
    assert parser.parse_args(["--group", "a", "--group", "a"]).group == "a"
    with pytest.raises(SystemExit):
        parser.parse_args(["--group", "a", "--group", "b"])
    assert "--group is given twice, a and b: give it once" in capsys.readouterr().err
