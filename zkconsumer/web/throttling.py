"""Limits how quickly tokens can be guessed. Pure."""

from collections import OrderedDict
from typing import Final

from zkconsumer.inbound.table import address_key

GUESSES_AT_ONCE: Final = 10
"""How many wrong tokens an address may send at once."""
GUESS_EACH_MS: Final = 6_000
"""The interval after which an address gets another attempt."""
ADDRESSES_MAX: Final = 10_000
"""How many addresses are kept; those that failed longest ago are dropped."""


class GuessThrottle:
    """Limits wrong tokens by address: some at once, then one every few seconds. Thread: one.

    An address without attempts left is refused without checking its token: a right guess must look
    like a wrong one. Cookies are not counted, since their signatures can't be guessed.
    """

    def __init__(self) -> None:
        # When the failures of an address expire; the latest to fail are last.
        self._forgiven_ms: OrderedDict[str, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._forgiven_ms)

    def wait_ms(self, host: str, now_ms: int) -> int:
        """Return the time until tokens of an address are checked again; 0: now."""
        forgiven_ms = self._forgiven_ms.get(address_key(host), now_ms)
        return max(0, forgiven_ms - now_ms - (GUESSES_AT_ONCE - 1) * GUESS_EACH_MS)

    def failed(self, host: str, now_ms: int) -> None:
        """Count a wrong token of an address."""
        address = address_key(host)
        before_ms = self._forgiven_ms.pop(address, now_ms)
        self._forgiven_ms[address] = max(before_ms, now_ms) + GUESS_EACH_MS
        while len(self._forgiven_ms) > ADDRESSES_MAX:
            self._forgiven_ms.popitem(last=False)
