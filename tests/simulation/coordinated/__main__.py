"""``python -m tests.simulation.coordinated --schedules n --seed s [--jobs j] [--verbose]``."""

import sys

from tests.simulation.__main__ import main
from tests.simulation.coordinated.schedule import run_schedule

if __name__ == "__main__":
    sys.exit(main(run=run_schedule))
