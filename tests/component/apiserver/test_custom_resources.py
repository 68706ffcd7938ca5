"""CustomResourceDefinitions: what they serve, and how they end."""

import asyncio
from collections.abc import Callable
from typing import Any

from tests.component.apiserver.conftest import Api

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"


def test_a_definition_is_established_at_once(api: Api, widgets: str) -> None:
    status = api.get(f"{DEFINITIONS}/widgets.example.com").body["status"]

    conditions = {each["type"]: each["status"] for each in status["conditions"]}
    assert conditions == {"NamesAccepted": "True", "Established": "True"}
    assert status["storedVersions"] == ["v1"]
    assert status["acceptedNames"]["kind"] == "Widget"


def test_before_the_definition_nothing_is_served(api: Api) -> None:
    assert api.get(WIDGETS).status == 404


def test_objects_are_defaulted_pruned_and_validated(
    api: Api, widgets: str, widget: Callable[..., Any]
) -> None:
    created = api.create(widgets, {**widget("a"), "spec": {"size": 2, "bogus": True}})
    assert created.body["spec"] == {"size": 2, "color": "red"}
    assert created.body["metadata"]["generation"] == 1

    refusal = api.create(widgets, widget("b", size=-1))

    assert refusal.status == 422
    assert refusal.message.startswith('Widget.example.com "b" is invalid: ')
    assert "spec.size in body should be greater than or equal to 0" in refusal.message


def test_items_of_custom_lists_name_their_kind(
    api: Api, widgets: str, widget: Callable[..., Any]
) -> None:
    api.create(widgets, widget("a"))

    body = api.get(widgets).body

    assert body["kind"] == "WidgetList"
    assert body["items"][0]["kind"] == "Widget"
    assert body["metadata"]["continue"] == ""


def test_replacing_must_name_the_version(
    api: Api, widgets: str, widget: Callable[..., Any]
) -> None:
    api.create(widgets, widget("a"))

    refusal = api.replace(f"{widgets}/a", widget("a", size=2))

    assert refusal.status == 422
    assert (
        "metadata.resourceVersion: Invalid value: 0: must be specified for an update"
        in refusal.message
    )


def test_versions_are_views_of_one_object(
    api: Api, widgets: str, widget: Callable[..., Any]
) -> None:
    beta = widgets.replace("/v1/", "/v1beta1/")
    api.create(beta, {**widget("a", "v1beta1"), "spec": {"size": 1, "old": "x"}})

    seen = api.get(f"{widgets}/a").body

    assert seen["apiVersion"] == "example.com/v1"
    assert seen["spec"] == {"size": 1, "color": "red"}, "v1 does not know the field, and stores"
    assert api.get(f"{beta}/a").body["apiVersion"] == "example.com/v1beta1"
    assert api.names(beta) == ["a"]


def test_status_and_the_rest_are_written_apart(
    api: Api, widgets: str, widget: Callable[..., Any]
) -> None:
    api.create(widgets, {**widget("a"), "status": {"size": 7}})
    assert "status" not in api.get(f"{widgets}/a").body

    patch = {"spec": {"size": 5}, "status": {"size": 5}, "metadata": {"labels": {"a": "b"}}}
    by_status = api.merge(f"{widgets}/a/status", patch).body
    assert (by_status["spec"]["size"], by_status["status"]) == (1, {"size": 5})
    assert "labels" not in by_status["metadata"]
    assert by_status["metadata"]["generation"] == 1
    by_spec = api.merge(f"{widgets}/a", {"spec": {"size": 6}, "status": {"size": 6}}).body

    assert (by_spec["spec"]["size"], by_spec["status"]) == (6, {"size": 5})
    assert by_spec["metadata"]["generation"] == 2


def test_scale_reads_and_writes_what_the_definition_says(
    api: Api, widgets: str, widget: Callable[..., Any]
) -> None:
    api.create(widgets, widget("a", size=3))
    api.merge(f"{widgets}/a/status", {"status": {"size": 2, "selector": "app=a"}})

    scale = api.get(f"{widgets}/a/scale").body
    assert scale["apiVersion"] == "autoscaling/v1"
    assert scale["spec"] == {"replicas": 3}
    assert scale["status"] == {"replicas": 2, "selector": "app=a"}
    scaled = api.replace(f"{widgets}/a/scale", {**scale, "spec": {"replicas": 9}})

    assert scaled.body["spec"] == {"replicas": 9}
    assert api.get(f"{widgets}/a").body["spec"]["size"] == 9
    assert api.replace(f"{widgets}/a/scale", scale).status == 409, "rests on an old version"


def test_strategic_merge_is_for_built_ins(
    api: Api, widgets: str, widget: Callable[..., Any]
) -> None:
    api.create(widgets, widget("a"))
    kind = "application/strategic-merge-patch+json"

    assert api("PATCH", f"{widgets}/a", {}, content_type=kind).status == 415


def test_a_changed_definition_shows_in_objects_that_exist(
    api: Api, widgets: str, widget: Callable[..., Any], crd: Callable[..., Any]
) -> None:
    api.create(widgets, widget("a"))
    changed = crd(shape={"type": "string", "default": "round"})
    live = api.get(f"{DEFINITIONS}/widgets.example.com").body

    api.replace(f"{DEFINITIONS}/widgets.example.com", {**live, "spec": changed["spec"]})

    assert api.get(f"{widgets}/a").body["spec"] == {"size": 1, "color": "red", "shape": "round"}


async def test_a_changed_definition_ends_watches(
    api: Api, widgets: str, crd: Callable[..., Any]
) -> None:
    live = api.get(f"{DEFINITIONS}/widgets.example.com").body
    changed = crd(shape={"type": "string"})

    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        watching = group.create_task(
            api.events(widgets, resourceVersion=api.server.resource_version)
        )
        await asyncio.sleep(0)
        api.replace(f"{DEFINITIONS}/widgets.example.com", {**live, "spec": changed["spec"]})
    assert watching.result() == []


def test_deleting_a_definition_deletes_its_objects(
    api: Api, widgets: str, widget: Callable[..., Any]
) -> None:
    api.create(widgets, widget("a"))

    begun = api.delete(f"{DEFINITIONS}/widgets.example.com")

    assert begun.body["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    assert api.get(f"{DEFINITIONS}/widgets.example.com").status == 404
    assert api.get(widgets).status == 404


def test_a_definition_waits_for_its_last_object(
    api: Api, widgets: str, widget: Callable[..., Any]
) -> None:
    api.create(widgets, {**widget("a"), "metadata": {"name": "a", "finalizers": ["x.io/slow"]}})
    api.delete(f"{DEFINITIONS}/widgets.example.com")

    refusal = api.create(widgets, widget("b"))
    assert refusal.status == 403
    assert (
        refusal.message
        == 'widgets.example.com "b" is forbidden: create not allowed while custom resource definition is terminating'
    )
    api.merge(f"{widgets}/a", {"metadata": {"finalizers": None}})

    assert api.get(f"{DEFINITIONS}/widgets.example.com").status == 404
    assert api.get(widgets).status == 404


def test_a_definition_can_come_back(
    api: Api, widgets: str, widget: Callable[..., Any], crd: Callable[..., Any]
) -> None:
    api.create(widgets, widget("a"))
    api.delete(f"{DEFINITIONS}/widgets.example.com")

    api.create(DEFINITIONS, crd())

    assert api.names(widgets) == []
    assert api.create(widgets, widget("a")).status == 201


async def test_a_watch_of_before_a_definition_came_back_has_to_list_anew(
    api: Api, widgets: str, widget: Callable[..., Any], crd: Callable[..., Any]
) -> None:
    """What it missed is forgotten; to go on as if nothing had happened would hide deletions."""
    seen = api.create(widgets, widget("a")).body["metadata"]["resourceVersion"]
    api.delete(f"{DEFINITIONS}/widgets.example.com")
    api.create(DEFINITIONS, crd())

    (event,) = await api.events(widgets, resourceVersion=seen)

    assert (event["type"], event["object"]["reason"]) == ("ERROR", "Expired")


def test_unqualified_finalizers_are_warned_about(
    api: Api, widgets: str, widget: Callable[..., Any]
) -> None:
    created = api.create(
        widgets, {**widget("a"), "metadata": {"name": "a", "finalizers": ["cleanup"]}}
    )

    assert "prefer a domain-qualified finalizer name" in created.headers["warning"]


def test_names_taken_by_others_are_given_when_they_become_free(
    api: Api, widgets: str, crd: Callable[..., Any]
) -> None:
    other = crd()
    other["metadata"]["name"] = "gizmos.example.com"
    other["spec"]["names"] = {"plural": "gizmos", "kind": "Widget", "singular": "gizmo"}
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    gizmos = "/apis/example.com/v1/namespaces/default/gizmos"

    api.create(path, other)
    status = api.get(f"{path}/gizmos.example.com").body["status"]
    accepted = {each["type"]: each["status"] for each in status["conditions"]}
    assert accepted == {"NamesAccepted": "False", "Established": "False"}
    assert status["acceptedNames"]["plural"] == "gizmos", "what is free is given"
    assert api.get(gizmos).status == 404

    api.delete(f"{path}/widgets.example.com")

    assert api.get(gizmos).status == 200
