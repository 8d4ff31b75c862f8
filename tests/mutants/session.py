"""``python -m tests.mutants.session FOLDER``: tries the mutants of functions in a folder."""

import json
import sys
from pathlib import Path

import pytest

from tests.mutants.plan import TOP, Plan, pytest_arguments
from tests.mutants.sites import Mutant
from tests.mutants.swap import change_between
from tests.mutants.warm import Warm


def main(folder: Path) -> int:
    """Run the session and return pytest's exit status."""
    plan: Plan = json.loads((folder / "plan.json").read_text())
    mutants = [Mutant(**mutant) for mutant in plan["mutants"]]
    changed = [
        (mutant, change_between(mutant.path, (TOP / mutant.path).read_text("utf-8"), mutant.source))
        for mutant in mutants
    ]
    warm = Warm(TOP, changed, folder, plan["jobs"], plan["budget_s"], plan["grace_s"])
    return int(pytest.main([*pytest_arguments(plan["marks"]), *plan["tests"]], plugins=[warm]))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
