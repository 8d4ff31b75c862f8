"""The paths to another release: each step is possible when its turn comes."""

from itertools import product

import pytest

from zkconsumer.status.doctor.upgrade_paths import (
    NEXT,
    Step,
    UpgradeMethod,
    paths_from,
    steps_of,
)
from zkconsumer.wire.releases import Release

RELEASES: tuple[Release, ...] = (
    *((0, 8, 0), (0, 8, 2), (0, 9), (0, 10, 0), (0, 10, 1), (0, 10, 2), (1, 1), (2, 0), (2, 1)),
    *((2, 8), (3, 2), (3, 3), (3, 8)),
)
CASES = [*product(UpgradeMethod, RELEASES, NEXT, (True, False))]
EARLY_CLIENTS = {Step.CLIENTS, Step.CLIENTS_TO_3}
LATE_CLIENTS = {Step.GROUPS_AND_CLIENTS, Step.SWITCH_AND_CLIENTS}


@pytest.mark.parametrize(("method", "oldest", "wanted", "has_zookeeper"), CASES)
def test_each_step_is_possible_when_its_turn_comes(
    method: UpgradeMethod, oldest: Release, wanted: str, has_zookeeper: bool
) -> None:
    """Each step is allowed by what brokers and clients of the release before it can do."""
    brokers, zookeeper, clients_are_new = oldest, has_zookeeper, oldest >= (4, 0)
    done: list[Step] = []
    for step in steps_of(method, oldest, wanted, has_zookeeper=has_zookeeper):
        assert step not in done
        if step in EARLY_CLIENTS:
            assert brokers >= (0, 10, 0), "clients of 2.1 speak to no older broker"
            assert step is Step.CLIENTS_TO_3 or brokers >= (2, 1), (
                "nor those of 4 to one before 2.1"
            )
            clients_are_new = True
        if step is Step.GROUPS_HERE:
            assert zookeeper
            assert brokers >= (0, 9), "no coordinator before"
        if step in {Step.TO_3_9, Step.TO_3_9_KRAFT}:
            assert (step is Step.TO_3_9) is zookeeper
            brokers = (3, 9)
        if step is Step.TO_KRAFT:
            assert brokers == (3, 9)
            assert Step.GROUPS_HERE in done, "groups in ZooKeeper go with it"
            zookeeper = False
        if step is Step.TO_4:
            assert brokers >= (3, 3)
            assert not zookeeper
            assert clients_are_new
            brokers = (4, 0)
        if step in {Step.GROUPS, Step.GROUPS_AND_CLIENTS, Step.SWITCH, Step.SWITCH_AND_CLIENTS}:
            assert Step.MIRROR in done
            assert clients_are_new or step in LATE_CLIENTS or NEXT[wanted] < (4, 0)
        if step in LATE_CLIENTS:
            assert brokers < (0, 10, 0), "clients can be brought there before"
        done.append(step)
    assert (brokers >= NEXT[wanted]) is (method is UpgradeMethod.IN_PLACE)
    assert (Step.SWITCH in done or Step.SWITCH_AND_CLIENTS in done) is (
        method is UpgradeMethod.MIRROR
    )
    if NEXT[wanted] < (4, 0):
        assert not {*EARLY_CLIENTS, *LATE_CLIENTS} & {*done}, "3.9 refuses no client"


@pytest.mark.parametrize(
    ("oldest", "wanted", "has_zookeeper", "first"),
    [
        ((0, 8, 2), "3.9", True, UpgradeMethod.IN_PLACE),
        ((0, 8, 2), "4.0", True, UpgradeMethod.MIRROR),
        ((3, 8), "4.0", True, UpgradeMethod.MIRROR),
        ((3, 2), "4.0", False, UpgradeMethod.MIRROR),
        ((3, 3), "4.0", False, UpgradeMethod.IN_PLACE),
    ],
)
def test_the_route_with_the_fewest_upgrades_comes_first(
    oldest: Release, wanted: str, has_zookeeper: bool, first: UpgradeMethod
) -> None:
    """The path with the fewest upgrades is first, and the other one is listed, too."""
    found = paths_from(oldest, "", wanted, has_zookeeper=has_zookeeper)
    assert [path.method for path in found] == sorted(
        UpgradeMethod, key=lambda method: method is not first
    )
    assert not any("{" in step for path in found for step in path.steps)


@pytest.mark.parametrize("wanted", NEXT)
@pytest.mark.parametrize("has_zookeeper", [True, False])
def test_from_an_unknown_release_only_a_mirror_is_proposed(
    wanted: str, has_zookeeper: bool
) -> None:
    """From an unknown release only a mirror is proposed, after finding out the release."""
    (path,) = paths_from(None, "broker 3", wanted, has_zookeeper=has_zookeeper)
    assert path.method is UpgradeMethod.MIRROR
    assert "the release of broker 3" in path.steps[0]
    oldest, *_ = (
        found
        for found in paths_from((0, 8), "", wanted, has_zookeeper=has_zookeeper)
        if found.method is UpgradeMethod.MIRROR
    )
    assert path.steps[1:] == oldest.steps


def test_a_cluster_of_the_wanted_release_has_no_route() -> None:
    """A cluster of the wanted release, or a later one, has no path."""
    assert paths_from((4, 1), "", "4.0", has_zookeeper=False) == ()
    assert paths_from((3, 9), "", "3.9", has_zookeeper=True) == ()
