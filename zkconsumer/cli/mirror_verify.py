"""``zkconsumer mirror verify``."""

import argparse


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add it."""
    subparsers.add_parser("verify")
