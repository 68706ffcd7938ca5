"""What each verb means in HTTP."""

from typing import ClassVar

import msgspec
import orjson
import pytest

from certwright.client import Propagation, Request, Selection, WatchOptions, request
from certwright.client.request import DeleteOptions, Validation, WriteOptions
from certwright.kube import JsonObject, Key, Object, ObjectMeta, Resource
from certwright.kube.kinds import ClusterRole, ConfigMap, Deployment, Namespace, Pod

KEY = Key("shop", "web")
STRICT = ("fieldValidation", "Strict")
CONFIG = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"namespace": "shop", "name": "web"},
    "data": {"a": "b"},
}


class GreetingSpec(msgspec.Struct):
    count: int = 1


class Greeting(Object):
    resource: ClassVar = Resource("demo.certwright.dev", "v1", "Greeting", "greetings")
    spec: GreetingSpec = msgspec.field(default_factory=GreetingSpec)


def header(built: Request, name: str) -> str | None:
    return dict(built.headers).get(name)


def test_get_names_the_object() -> None:
    built = request.get(Deployment, KEY)
    assert (built.verb, built.method, built.path) == (
        "get",
        "GET",
        "/apis/apps/v1/namespaces/shop/deployments/web",
    )
    assert built.query == ()
    assert built.body is None
    assert built.resource is Deployment
    assert header(built, "accept") == "application/json"


def test_get_of_a_subresource() -> None:
    built = request.get(Deployment, KEY, "scale")
    assert built.path == "/apis/apps/v1/namespaces/shop/deployments/web/scale"
    assert built.subresource == "scale"


def test_list_asks_for_a_page_with_selectors() -> None:
    built = request.list_page(ConfigMap, Selection("shop", "app in (a,b)", "metadata.name=x"))
    assert (built.verb, built.method, built.path) == (
        "list",
        "GET",
        "/api/v1/namespaces/shop/configmaps",
    )
    assert built.query == (
        ("labelSelector", "app in (a,b)"),
        ("fieldSelector", "metadata.name=x"),
        ("limit", "500"),
    )


def test_list_of_all_namespaces() -> None:
    assert request.list_page(ConfigMap, Selection()).path == "/api/v1/configmaps"


def test_first_page_carries_the_version_and_its_match() -> None:
    built = request.list_page(
        ConfigMap, Selection(), resource_version="7", match="NotOlderThan", limit=0
    )
    assert built.query == (("resourceVersion", "7"), ("resourceVersionMatch", "NotOlderThan"))


def test_later_pages_carry_the_token_only() -> None:
    built = request.list_page(
        ConfigMap, Selection(), resource_version="7", match="NotOlderThan", continue_token="t"
    )
    assert built.query == (("limit", "500"), ("continue", "t"))


def test_metadata_only_is_a_media_type() -> None:
    listed = request.list_page(ConfigMap, Selection(), metadata_only=True)
    watched = request.watch(ConfigMap, Selection(), WatchOptions(metadata_only=True))
    assert "as=PartialObjectMetadataList;" in (header(listed, "accept") or "")
    assert "as=PartialObjectMetadata;" in (header(watched, "accept") or "")


def test_watch_goes_on_from_a_version() -> None:
    built = request.watch(
        ConfigMap, Selection("shop"), WatchOptions(resource_version="7", timeout_seconds=300)
    )
    assert (built.verb, built.method) == ("watch", "GET")
    assert built.query == (
        ("watch", "true"),
        ("allowWatchBookmarks", "true"),
        ("resourceVersion", "7"),
        ("timeoutSeconds", "300"),
    )


def test_streaming_list_sets_all_that_the_server_insists_on() -> None:
    built = request.watch(
        ConfigMap, Selection(), WatchOptions(initial_events=True, bookmarks=False)
    )
    assert built.query == (
        ("watch", "true"),
        ("allowWatchBookmarks", "true"),
        ("sendInitialEvents", "true"),
        ("resourceVersionMatch", "NotOlderThan"),
    )


def test_create_posts_to_the_collection_and_is_strict() -> None:
    built = request.create(ConfigMap, CONFIG, WriteOptions("me"))
    assert (built.verb, built.method, built.path) == (
        "create",
        "POST",
        "/api/v1/namespaces/shop/configmaps",
    )
    assert built.query == (STRICT, ("fieldManager", "me"))
    assert header(built, "content-type") == "application/json"
    assert orjson.loads(built.body or b"") == CONFIG


def test_create_lets_the_server_name_the_object() -> None:
    obj = {"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "a", "generateName": "p-"}}
    assert request.create(Pod, obj, WriteOptions()).path == "/api/v1/namespaces/a/pods"


def test_create_without_namespace_is_the_callers_mistake() -> None:
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}}
    with pytest.raises(ValueError, match="ConfigMap 'web' needs a namespace"):
        request.create(ConfigMap, obj, WriteOptions())


def test_create_of_a_cluster_scoped_object() -> None:
    obj = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    assert request.create(Namespace, obj, WriteOptions()).path == "/api/v1/namespaces"


def test_dry_run_and_lenient_validation() -> None:
    options = WriteOptions("me", dry_run=True, validation=Validation.WARN)
    built = request.create(ConfigMap, CONFIG, options)
    assert built.query == (
        ("fieldValidation", "Warn"),
        ("fieldManager", "me"),
        ("dryRun", "All"),
    )


def test_typed_objects_carry_their_kind_and_only_what_was_set() -> None:
    obj = Greeting(metadata=ObjectMeta(name="hi", namespace="a"), spec=GreetingSpec(3))
    built = request.create(Greeting.resource, obj, WriteOptions())
    assert orjson.loads(built.body or b"") == {
        "apiVersion": "demo.certwright.dev/v1",
        "kind": "Greeting",
        "metadata": {"name": "hi", "namespace": "a"},
        "spec": {"count": 3},
    }


@pytest.mark.parametrize("force", [True, False])
def test_apply(*, force: bool) -> None:
    built = request.apply(ConfigMap, CONFIG, WriteOptions("me"), force=force)
    assert (built.verb, built.method, built.path) == (
        "patch",
        "PATCH",
        "/api/v1/namespaces/shop/configmaps/web",
    )
    assert built.query == (("force", "true" if force else "false"), STRICT, ("fieldManager", "me"))
    assert header(built, "content-type") == "application/apply-patch+yaml"
    assert orjson.loads(built.body or b"") == CONFIG


def test_apply_to_status() -> None:
    built = request.apply(ConfigMap, CONFIG, WriteOptions("me"), subresource="status")
    assert built.path.endswith("/configmaps/web/status")
    assert built.subresource == "status"


def test_apply_needs_a_signature() -> None:
    with pytest.raises(ValueError, match="ConfigMap shop/web needs a field manager"):
        request.apply(ConfigMap, CONFIG, WriteOptions())


def test_update_replaces_the_object() -> None:
    built = request.update(ConfigMap, CONFIG, WriteOptions("me"), "status")
    assert (built.verb, built.method) == ("update", "PUT")
    assert built.path == "/api/v1/namespaces/shop/configmaps/web/status"
    assert built.query == (STRICT, ("fieldManager", "me"))


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/merge-patch+json", {"data": None}),
        ("application/strategic-merge-patch+json", {"data": {"x": "y"}}),
        ("application/json-patch+json", [{"op": "remove", "path": "/data"}]),
    ],
)
def test_patches(content_type: str, body: JsonObject | list[dict[str, str]]) -> None:
    built = request.patch(ConfigMap, KEY, body, WriteOptions("me"), content_type=content_type)
    assert (built.verb, built.method) == ("patch", "PATCH")
    assert header(built, "content-type") == content_type
    assert orjson.loads(built.body or b"") == body


@pytest.mark.parametrize(
    ("content_type", "body"),
    [("application/merge-patch+json", [{"op": "x"}]), ("application/json-patch+json", {"a": 1})],
)
def test_patches_of_the_wrong_shape_are_the_callers_mistake(
    content_type: str, body: JsonObject | list[dict[str, str]]
) -> None:
    with pytest.raises(TypeError, match="is no application/"):
        request.patch(ConfigMap, KEY, body, WriteOptions(), content_type=content_type)


def test_plain_delete_has_no_body() -> None:
    built = request.delete(ConfigMap, KEY)
    assert (built.verb, built.method, built.query, built.body) == ("delete", "DELETE", (), None)


def test_delete_with_everything() -> None:
    options = DeleteOptions("u", "7", Propagation.FOREGROUND, 0, dry_run=True)
    built = request.delete(ConfigMap, KEY, options)
    assert built.query == (("dryRun", "All"),)
    assert orjson.loads(built.body or b"") == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": "u", "resourceVersion": "7"},
        "propagationPolicy": "Foreground",
        "gracePeriodSeconds": 0,
        "dryRun": ["All"],
    }


def test_delete_collection() -> None:
    built = request.delete_collection(ConfigMap, Selection("shop", "app=web"))
    assert (built.verb, built.method) == ("deletecollection", "DELETE")
    assert built.path == "/api/v1/namespaces/shop/configmaps"
    assert built.query == (("labelSelector", "app=web"),)


def test_delete_collection_never_spans_namespaces_by_accident() -> None:
    with pytest.raises(ValueError, match="needs a namespace"):
        request.delete_collection(ConfigMap, Selection(labels="app=web"))


def test_subresources_are_posted_to() -> None:
    built = request.create_subresource(Pod, KEY, "eviction", {"kind": "Eviction"}, WriteOptions())
    assert (built.verb, built.method) == ("create", "POST")
    assert built.path == "/api/v1/namespaces/shop/pods/web/eviction"
    assert built.subresource == "eviction"


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "../secrets/x", "a?b", "a#b", "a%2fb", "a b"]
)
def test_names_that_would_lead_elsewhere_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="not a possible namespace and name"):
        request.get(ConfigMap, Key("shop", name))


@pytest.mark.parametrize("namespace", ["..", "a/b", "a?watch=true"])
def test_namespaces_that_would_lead_elsewhere_are_refused(namespace: str) -> None:
    with pytest.raises(ValueError, match="not a possible namespace"):
        request.get(ConfigMap, Key(namespace, "x"))
    with pytest.raises(ValueError, match="not a possible namespace"):
        request.list_page(ConfigMap, Selection(namespace))


def test_subresources_that_would_lead_elsewhere_are_refused() -> None:
    with pytest.raises(ValueError, match="is not a subresource"):
        request.get(ConfigMap, KEY, "../other")


def test_names_of_rbac_may_hold_colons() -> None:
    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:admin"
    assert request.get(ClusterRole, Key("", "system:admin")).path == path


def test_the_repr_of_a_request_hides_its_body() -> None:
    built = request.create(ConfigMap, {**CONFIG, "data": {"a": "canary"}}, WriteOptions())
    assert "canary" not in repr(built)
