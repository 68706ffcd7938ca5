"""Lists: order, selectors, pages, and moments in history."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.component.apiserver.conftest import Api


@pytest.fixture
def filled(api: Api, maps: str, config_map: Callable[..., Any]) -> Api:
    for name in ("c", "a", "b"):
        api.create(maps, config_map(name, {"v": "1"}, labels={"app": name}))
    return api


def test_lists_are_ordered_by_key_not_by_age(filled: Api, maps: str) -> None:
    assert filled.names(maps) == ["a", "b", "c"]


def test_items_of_built_in_lists_do_not_name_their_kind(filled: Api, maps: str) -> None:
    body = filled.get(maps).body

    assert body["kind"] == "ConfigMapList"
    assert body["apiVersion"] == "v1"
    assert all("kind" not in item and "apiVersion" not in item for item in body["items"])


def test_namespaces_are_ordered_as_in_etcd(filled: Api, config_map: Callable[..., Any]) -> None:
    """A dash sorts before the slash that ends a namespace."""
    for namespace in ("n", "n-b"):
        filled.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
        filled.create(f"/api/v1/namespaces/{namespace}/configmaps", config_map("x"))

    items = filled.get("/api/v1/configmaps", fieldSelector="metadata.name=x").body["items"]

    assert [item["metadata"]["namespace"] for item in items] == ["n-b", "n"]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({"labelSelector": "app=a"}, ["a"]),
        ({"labelSelector": "app in (a,b)"}, ["a", "b"]),
        ({"labelSelector": "!app"}, []),
        ({"fieldSelector": "metadata.name!=a"}, ["b", "c"]),
        ({"fieldSelector": "metadata.name=b", "labelSelector": "app=a"}, []),
    ],
)
def test_selectors(filled: Api, maps: str, query: dict[str, str], names: list[str]) -> None:
    assert filled.names(maps, **query) == names


def test_fields_that_cannot_be_selected_by_are_refused(filled: Api, maps: str) -> None:
    refusal = filled.get(maps, fieldSelector="data.v=1")

    assert refusal.status == 400
    assert (
        refusal.message
        == '"data.v" is not a known field selector: only "metadata.name", "metadata.namespace"'
    )


def test_pages_show_one_moment(filled: Api, maps: str, config_map: Callable[..., Any]) -> None:
    first = filled.get(maps, limit=2).body
    assert [item["metadata"]["name"] for item in first["items"]] == ["a", "b"]
    assert first["metadata"]["remainingItemCount"] == 1
    filled.delete(f"{maps}/c")
    filled.create(maps, config_map("bb"))

    second = filled.get(maps, limit=2, **{"continue": first["metadata"]["continue"]}).body

    assert [item["metadata"]["name"] for item in second["items"]] == ["c"]
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    assert "continue" not in second["metadata"]


def test_a_page_whose_history_is_gone_offers_to_go_on(
    filled: Api, maps: str, config_map: Callable[..., Any]
) -> None:
    first = filled.get(maps, limit=2).body["metadata"]
    filled.create(maps, config_map("bb"))
    filled.server.trim_history()

    refusal = filled.get(maps, limit=2, **{"continue": first["continue"]})

    assert refusal.status == 410
    assert refusal.body["reason"] == "Expired"
    rest = filled.get(maps, limit=2, **{"continue": refusal.body["metadata"]["continue"]}).body
    assert [item["metadata"]["name"] for item in rest["items"]] == ["bb", "c"]


def test_an_exact_version_shows_the_past(filled: Api, maps: str) -> None:
    then = filled.server.resource_version
    filled.merge(f"{maps}/a", {"data": {"v": "2"}})
    filled.delete(f"{maps}/b")

    body = filled.get(maps, resourceVersion=then, resourceVersionMatch="Exact").body

    assert [item["metadata"]["name"] for item in body["items"]] == ["a", "b", "c"]
    assert body["items"][0]["data"] == {"v": "1"}
    assert body["metadata"]["resourceVersion"] == then


def test_a_kind_without_objects_has_a_history_too(
    filled: Api, maps: str, config_map: Callable[..., Any]
) -> None:
    then = filled.get(maps).body["metadata"]["resourceVersion"]
    filled.create(maps, config_map("later"))

    answer = filled.get("/api/v1/podtemplates", resourceVersion=then, resourceVersionMatch="Exact")

    assert answer.status == 200
    assert answer.body["items"] == []


def test_an_exact_version_that_is_forgotten_is_gone(filled: Api, maps: str) -> None:
    then = filled.server.resource_version
    filled.delete(f"{maps}/b")
    filled.server.trim_history()

    refusal = filled.get(maps, resourceVersion=then, resourceVersionMatch="Exact")

    assert refusal.status == 410
    assert refusal.message == "The resourceVersion for the provided list is too old."


def test_the_future_times_out(filled: Api, maps: str) -> None:
    future = int(filled.server.resource_version) + 10

    refusal = filled.get(maps, resourceVersion=future)

    assert refusal.status == 504
    assert refusal.message.startswith(f"Timeout: Too large resource version: {future}, current: ")
    assert refusal.body["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"
    assert refusal.headers["retry-after"] == "1"


def test_any_version_is_answered_in_one_piece(filled: Api, maps: str) -> None:
    body = filled.get(maps, resourceVersion="0", limit=1).body

    assert len(body["items"]) == 3


def test_metadata_alone(filled: Api, maps: str) -> None:
    accept = ("Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")

    body = filled.get(maps, headers=[accept]).body

    assert body["kind"] == "PartialObjectMetadataList"
    assert body["items"][0]["metadata"]["name"] == "a"
    assert all("data" not in item for item in body["items"])


def test_other_media_types_are_not_acceptable(filled: Api, maps: str) -> None:
    assert filled.get(maps, headers=[("Accept", "application/xml")]).status == 406
