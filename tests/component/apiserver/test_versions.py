"""Versions of a custom kind over time: stored, migrated, dropped, deprecated."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from tests.component.apiserver.conftest import Api, request

Json = dict[str, Any]

WIDGETS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com"


@pytest.fixture
def beta(widgets: str) -> str:
    """Where version v1beta1 of widgets is served."""
    return widgets.replace("/v1/", "/v1beta1/")


def stored_as(api: Api, version: str) -> list[Json]:
    """Make another version the stored one; return the versions."""
    versions: list[Json] = deepcopy(api.get(WIDGETS).body["spec"]["versions"])
    for each in versions:
        each["storage"] = each["name"] == version
    assert api.merge(WIDGETS, {"spec": {"versions": versions}}).status == 200
    return versions


def storage_of(api: Api) -> str:
    (found,) = (obj for obj in api.server.objects() if obj["kind"] == "Widget")
    return str(found["apiVersion"])


def test_a_write_that_changes_nothing_migrates_once(
    api: Api, widgets: str, beta: str, widget: Callable[..., Any]
) -> None:
    api.create(widgets, widget("a"))
    stored_as(api, "v1beta1")
    assert storage_of(api) == "example.com/v1"

    seen = api.get(f"{beta}/a").body
    moved = api.replace(f"{beta}/a", seen).body
    again = api.replace(f"{beta}/a", moved).body

    assert storage_of(api) == "example.com/v1beta1"
    assert moved["spec"] == seen["spec"]
    assert moved["metadata"]["generation"] == seen["metadata"]["generation"]
    versions = [each["metadata"]["resourceVersion"] for each in (seen, moved, again)]
    assert versions[0] != versions[1] == versions[2]


def test_after_migration_a_version_can_go(
    api: Api, widgets: str, beta: str, widget: Callable[..., Any]
) -> None:
    api.create(widgets, widget("a"))
    _, second = stored_as(api, "v1beta1")
    assert api.get(WIDGETS).body["status"]["storedVersions"] == ["v1", "v1beta1"]

    refusal = api.merge(WIDGETS, {"spec": {"versions": [second]}})
    assert refusal.status == 422
    assert "status.storedVersions[0]" in refusal.message
    api.replace(f"{beta}/a", api.get(f"{beta}/a").body)
    api.merge(f"{WIDGETS}/status", {"status": {"storedVersions": ["v1beta1"]}})

    assert api.merge(WIDGETS, {"spec": {"versions": [second]}}).status == 200
    assert api.get(f"{widgets}/a").status == 404
    assert api.get(f"{beta}/a").body["spec"]["size"] == 1


def test_objects_in_a_version_that_is_gone_cannot_be_read(
    api: Api, widgets: str, beta: str, widget: Callable[..., Any]
) -> None:
    api.create(widgets, widget("a"))
    _, second = stored_as(api, "v1beta1")
    api.merge(f"{WIDGETS}/status", {"status": {"storedVersions": ["v1beta1"]}})
    api.merge(WIDGETS, {"spec": {"versions": [second]}})

    refusal = api.get(f"{beta}/a")

    assert refusal.status == 500
    assert refusal.message == (
        "request to convert CR from an invalid group/version: example.com/v1"
    )


async def test_deprecated_versions_warn_in_every_answer(
    api: Api, widgets: str, beta: str, widget: Callable[..., Any]
) -> None:
    versions = deepcopy(api.get(WIDGETS).body["spec"]["versions"])
    versions[1]["deprecated"] = True
    api.merge(WIDGETS, {"spec": {"versions": versions}})
    expected = '299 - "example.com/v1beta1 Widget is deprecated; use example.com/v1 Widget"'

    answers = [
        api.create(beta, widget("a", "v1beta1")),
        api.get(beta),
        api.get(f"{beta}/none"),
        api.create(beta, widget("b", "v1beta1", size=-1)),
    ]
    watch = api.server.watch(request("GET", beta, watch="1"))

    assert [answer.status for answer in answers] == [201, 200, 404, 422]
    assert {answer.headers["warning"] for answer in answers} == {expected}
    assert watch.headers["warning"] == expected
    assert "warning" not in api.get(widgets).headers
