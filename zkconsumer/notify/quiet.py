"""Decides whether an instant lies in quiet hours. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Final

DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


@dataclass(frozen=True, slots=True, kw_only=True)
class QuietHours:
    """Hours of the day without notifications, in the local time of a time zone.

    Attributes:
        begin: the first minute, counted from midnight.
        end: the minute after the last one; if less than ``begin``, on the next day. Equal to
            ``begin``: 24 hours.
        zone: the time zone, with its daylight-saving time.
        days: the weekdays on which the hours begin; 0 is Monday.
    """

    begin: int
    end: int
    zone: tzinfo
    days: frozenset[int] = frozenset(range(7))

    def covers(self, wall_ms: int) -> bool:
        """Return whether an instant lies within these hours."""
        local = datetime.fromtimestamp(wall_ms / 1000, self.zone)
        minute = local.hour * 60 + local.minute
        today = local.weekday() in self.days
        if self.begin < self.end:
            return today and self.begin <= minute < self.end
        yesterday = (local.date() - timedelta(days=1)).weekday() in self.days
        return (today and minute >= self.begin) or (yesterday and minute < self.end)
