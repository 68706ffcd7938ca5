"""The same seed gives the same server; what clients must not rely on differs between seeds."""

from random import Random

import pytest

from certwright.apiserver import ApiServer


@pytest.fixture
def history(clock, api_of, maps, config_map):
    def run(seed):
        server = ApiServer(clock=clock, rng=Random(seed))  # noqa: S311 - repeatable
        api = api_of(server)
        made = [api.create(maps, {"metadata": {"generateName": "x-"}}).body for _ in range(3)]
        return [*made, api.get("/api/v1/namespaces").body]

    return run


def test_one_seed_is_one_history(history):
    assert history(1) == history(1)


def test_other_seeds_give_other_names_uids_and_versions(history):
    first, second = history(1)[0]["metadata"], history(2)[0]["metadata"]

    assert first["name"] != second["name"]
    assert first["uid"] != second["uid"]
    assert first["resourceVersion"] != second["resourceVersion"]


def test_two_servers_share_nothing(clock, api_of, maps, config_map):
    one, two = api_of(ApiServer(clock=clock)), api_of(ApiServer(clock=clock))

    one.create(maps, config_map("a"))

    assert two.names(maps) == []
