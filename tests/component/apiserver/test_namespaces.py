"""The life of namespaces."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.component.apiserver.conftest import Api, SetClock

from certwright.apiserver import ApiServer


@pytest.fixture
def space(api: Api) -> str:
    api.create("/api/v1/namespaces", {"metadata": {"name": "n"}})
    return "/api/v1/namespaces/n"


def test_four_exist_from_the_start(api: Api) -> None:
    assert api.names("/api/v1/namespaces") == [
        "default",
        "kube-node-lease",
        "kube-public",
        "kube-system",
    ]


def test_a_new_one_is_active(api: Api, space: str) -> None:
    body = api.get(space).body

    assert body["status"] == {"phase": "Active"}
    assert body["spec"] == {"finalizers": ["kubernetes"]}
    assert body["metadata"]["labels"] == {"kubernetes.io/metadata.name": "n"}


def test_deleting_one_deletes_what_is_in_it(
    api: Api, space: str, config_map: Callable[..., Any]
) -> None:
    api.create(f"{space}/configmaps", config_map("a"))
    api.create(f"{space}/secrets", {"metadata": {"name": "s"}})

    answer = api.delete(space)

    assert answer.status == 200
    assert answer.body["status"]["phase"] == "Terminating"
    assert api.get(space).status == 404
    assert api.get(f"{space}/configmaps/a").status == 404
    assert api.get(f"{space}/secrets/s").status == 404


def test_one_lasts_as_long_as_something_in_it_does(
    api: Api, space: str, config_map: Callable[..., Any]
) -> None:
    api.create(f"{space}/configmaps", config_map("a", finalizers=["x.io/slow"]))

    api.delete(space)

    body = api.get(space).body
    messages = {each["type"]: each["message"] for each in body["status"]["conditions"]}
    assert (
        messages["NamespaceContentRemaining"]
        == "Some resources are remaining: configmaps. has 1 resource instances"
    )
    assert (
        messages["NamespaceFinalizersRemaining"]
        == "Some content in the namespace has finalizers remaining: x.io/slow in 1 resource instances"
    )
    api.merge(f"{space}/configmaps/a", {"metadata": {"finalizers": None}})
    assert api.get(space).status == 404


def test_nothing_new_comes_into_one_that_is_going(
    api: Api, space: str, config_map: Callable[..., Any]
) -> None:
    api.create(f"{space}/configmaps", config_map("a", finalizers=["x.io/slow"]))
    api.delete(space)

    refusal = api.create(f"{space}/configmaps", config_map("b"))

    assert refusal.status == 403
    assert (
        refusal.message
        == 'configmaps "b" is forbidden: unable to create new content in namespace n because it is being terminated'
    )
    assert refusal.body["details"]["causes"] == [
        {
            "reason": "NamespaceTerminating",
            "message": "namespace n is being terminated",
            "field": "metadata.namespace",
        }
    ]


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
def test_some_may_not_be_deleted(api: Api, name: str) -> None:
    refusal = api.delete(f"/api/v1/namespaces/{name}")

    assert refusal.status == 403
    assert refusal.message == f'namespaces "{name}" is forbidden: this namespace may not be deleted'


def test_one_can_be_finalized_by_hand(api: Api, space: str, config_map: Callable[..., Any]) -> None:
    api.create(f"{space}/configmaps", config_map("a", finalizers=["x.io/slow"]))
    api.delete(space)
    body = api.get(space).body

    api.replace(f"{space}/finalize", {**body, "spec": {}})

    assert api.get(space).status == 404


def test_they_can_be_furnished(clock: SetClock, api_of: type[Api]) -> None:
    api = api_of(ApiServer(clock=clock, namespace_defaults=True))
    api.create("/api/v1/namespaces", {"metadata": {"name": "n"}})

    assert api.names("/api/v1/namespaces/n/serviceaccounts") == ["default"]
    assert api.names("/api/v1/namespaces/n/configmaps") == ["kube-root-ca.crt"]
    api.delete("/api/v1/namespaces/n/serviceaccounts/default")
    assert api.names("/api/v1/namespaces/n/serviceaccounts") == ["default"], "made again"
