"""A ``--group`` that may be given again."""

import argparse

from zkconsumer.cli.group_arguments import add_groups_argument


def parser_of() -> argparse.ArgumentParser:
    """A parser with it."""
    parser = argparse.ArgumentParser()
    add_groups_argument(parser, "only this group")
    return parser


def test_every_group_counts() -> None:
    """In their order, each once; none means all."""
    parser = parser_of()
    words = ["--group", "b", "--group=a", "--group", "b"]
    assert parser.parse_args(words).group == ["b", "a"]
    assert parser.parse_args([]).group == []
    assert parser.parse_args(["--group", "c"]).group == ["c"]


def test_a_default_counts_where_none_is_given() -> None:
    """That of the configuration file is a text; the command line takes its place."""
    parser = parser_of()
    parser.set_defaults(group="filed")
    assert parser.parse_args([]).group == ["filed"]
    assert parser.parse_args(["--group", "a"]).group == ["a"]
