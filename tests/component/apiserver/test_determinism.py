"""The same seed gives the same server; what clients must not rely on differs between seeds."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from tests.component.apiserver.conftest import Api, SetClock

from certwright.apiserver import ApiServer
from certwright.kube import JsonObject


@pytest.fixture
def history(
    clock: SetClock, api_of: type[Api], maps: str, config_map: Callable[..., Any]
) -> Callable[..., Any]:
    def run(seed: int) -> list[JsonObject]:
        server = ApiServer(clock=clock, rng=Random(seed))  # noqa: S311 - repeatable
        api = api_of(server)
        made = [api.create(maps, {"metadata": {"generateName": "x-"}}).body for _ in range(3)]
        return [*made, api.get("/api/v1/namespaces").body]

    return run


def test_one_seed_is_one_history(history: Callable[..., Any]) -> None:
    assert history(1) == history(1)


def test_other_seeds_give_other_names_uids_and_versions(history: Callable[..., Any]) -> None:
    first, second = history(1)[0]["metadata"], history(2)[0]["metadata"]

    assert first["name"] != second["name"]
    assert first["uid"] != second["uid"]
    assert first["resourceVersion"] != second["resourceVersion"]


def test_two_servers_share_nothing(
    clock: SetClock, api_of: type[Api], maps: str, config_map: Callable[..., Any]
) -> None:
    one, two = api_of(ApiServer(clock=clock)), api_of(ApiServer(clock=clock))

    one.create(maps, config_map("a"))

    assert two.names(maps) == []
