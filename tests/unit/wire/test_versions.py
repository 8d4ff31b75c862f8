"""Which version of a request to send to which broker."""

import pytest

from tests.support.all_requests import REQUESTS
from zkconsumer.errors import UnsupportedVersion
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.negotiation import of_generation
from zkconsumer.wire.versions import KNOWN_VERSIONS, BrokerGeneration


def test_every_version_in_the_table_can_be_encoded() -> None:
    """The table of known versions names none that the codec lacks."""
    for known in KNOWN_VERSIONS.values():
        for api, versions in known.items():
            spec = REQUESTS[api].API
            assert spec.first <= versions.first <= versions.last <= spec.last


@pytest.mark.parametrize(
    ("api", "generation", "at_most", "version"),
    [
        (ApiKey.FETCH, BrokerGeneration.V0_8_0, None, 0),
        (ApiKey.OFFSET_COMMIT, BrokerGeneration.V0_8_1, None, 0),
        (ApiKey.OFFSET_COMMIT, BrokerGeneration.V0_8_2, None, 1),
        (ApiKey.OFFSET_COMMIT, BrokerGeneration.V0_8_2, 0, 0),
        (ApiKey.OFFSET_FETCH, BrokerGeneration.V0_8_2, 5, 1),
        (ApiKey.OFFSET_COMMIT, BrokerGeneration.V0_9, None, 2),
        (ApiKey.FETCH, BrokerGeneration.V0_9, None, 1),
        (ApiKey.JOIN_GROUP, BrokerGeneration.V0_9, None, 0),
    ],
)
def test_the_newest_version_of_a_generation_is_chosen(
    api: ApiKey, generation: BrokerGeneration, at_most: int | None, version: int
) -> None:
    """The newest version of the generation is chosen, within the given limit."""
    assert of_generation(generation).version_for(api, at_most=at_most) == version


@pytest.mark.parametrize(
    ("api", "generation"),
    [
        (ApiKey.OFFSET_FETCH, BrokerGeneration.V0_8_0),
        (ApiKey.CONSUMER_METADATA, BrokerGeneration.V0_8_1),
    ],
)
def test_apis_that_a_generation_lacks_are_refused(
    api: ApiKey, generation: BrokerGeneration
) -> None:
    """An API that came later is refused with the broker's release and the API's name."""
    with pytest.raises(UnsupportedVersion, match=rf"Kafka {generation.value}\) lacks {api.name}"):
        of_generation(generation).version_for(api)
