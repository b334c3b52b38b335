"""The description in OpenAPI is what the hub answers: schemathesis calls it as described, and otherwise."""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode

from kb.hub.operations import OPERATIONS
from kb.hub.rest import build_openapi
from tests.hub.conftest import World
from tests.support.hub_world import listen

EXAMPLES = 8
"""Of each operation, in each mode."""


@pytest.fixture(scope="module")
def served(world: World) -> Iterator[tuple[str, Any]]:
    """Where the hub listens, and its description."""
    with listen(world.hub) as (url, server):
        yield url, schemathesis.openapi.from_dict(build_openapi(server.reception, "en"))


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["as described", "otherwise"])
@pytest.mark.parametrize("name", [operation.name for operation in OPERATIONS])
def test_every_operation_is_as_it_is_described(
    world: World, served: tuple[str, Any], name: str, mode: GenerationMode
) -> None:
    url, schema = served
    operation = next(
        found.ok() for found in schema.get_all_operations() if found.ok().definition.raw["operationId"] == name
    )
    headers = {"Authorization": f"Bearer {world.issuer.make_token()}"}

    @settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(operation.as_strategy(generation_mode=mode))
    def call_operation(case: Any) -> None:
        case.call_and_validate(base_url=url, headers=headers)

    call_operation()


def test_the_description_is_in_two_languages(served: tuple[str, Any], world: World) -> None:
    with listen(world.hub) as (_, server):
        english, chinese = (build_openapi(server.reception, language) for language in ("en", "zh"))
    assert english["openapi"] == "3.1.0" and english["security"] == [{"bearer": []}]
    assert set(english["paths"]) == set(chinese["paths"]) and len(english["paths"]) == len(OPERATIONS)
    assert chinese["paths"]["/api/v1/search"]["get"]["summary"] == "搜索所有仓库"
    assert english["paths"]["/api/v1/search"]["get"]["summary"] == "Search all repositories"
