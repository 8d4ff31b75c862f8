"""Formats log lines, each with a number of its own. Pure."""

import re

_CLIENTS = ("203.0.113.7", "198.51.100.23", "192.0.2.144", "203.0.113.90", "198.51.100.4")
_PATHS = ("/", "/cart/{n}", "/item/{n}", "/search?q=pump+{n}", "/api/v1/orders/{n}", "/login")
_METHODS = ("GET", "GET", "GET", "POST")
_STATUS = (200, 200, 200, 200, 304, 404, 200, 500)
_AGENTS = ("Mozilla/5.0 (X11; Linux x86_64)", "curl/7.37.0", "PlantGateway/2.1", "okhttp/2.4.0")
_NUMBER = re.compile(r"rid=(\d+)")


def log_line(number: int, when: str) -> str:
    """Return an access log line that carries ``number`` as its request id.

    Args:
        number: the number of the line, from 0 on, by which it can be recognised.
        when: the time that the line shows.
    """
    mixed = number * 2654435761 % 2**32
    path = _PATHS[mixed % len(_PATHS)].format(n=mixed % 10_000)
    return (
        f"{_CLIENTS[mixed // 7 % len(_CLIENTS)]} - - [{when}] "
        f'"{_METHODS[mixed // 11 % len(_METHODS)]} {path} HTTP/1.1" '
        f"{_STATUS[mixed // 13 % len(_STATUS)]} {mixed // 17 % 20_000} "
        f'"{_AGENTS[mixed // 19 % len(_AGENTS)]}" rid={number}'
    )


def line_number(line: str) -> int | None:
    """Return the number of a line of ``log_line``; None for any other text."""
    found = _NUMBER.search(line)
    return int(found.group(1)) if found else None
