"""A ``--group`` option that may be repeated."""

import argparse

from zkconsumer.cli.group_arguments import add_groups_argument


def parser_of() -> argparse.ArgumentParser:
    """Build a parser with the option."""
    parser = argparse.ArgumentParser()
    add_groups_argument(parser, "only this group")
    return parser


def test_groups_are_listed_once_in_order() -> None:
    """Without the option the list is empty, which means all groups."""
    parser = parser_of()
    words = ["--group", "b", "--group=a", "--group", "b"]
    assert parser.parse_args(words).group == ["b", "a"]
    assert parser.parse_args([]).group == []
    assert parser.parse_args(["--group", "c"]).group == ["c"]


def test_a_default_applies_if_no_group_is_given() -> None:
    """The configuration file's default is a string; the command line replaces it."""
    parser = parser_of()
    parser.set_defaults(group="filed")
    assert parser.parse_args([]).group == ["filed"]
    assert parser.parse_args(["--group", "a"]).group == ["a"]
