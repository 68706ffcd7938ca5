import orjson
import pytest

from certwright.apiserver.builtins import served_kinds
from certwright.apiserver.crds import served_kinds as custom_kinds
from certwright.apiserver.discovery import openapi
from certwright.kube import JsonObject


@pytest.fixture(scope="module")
def apps() -> JsonObject:
    return openapi.document(k for k in served_kinds() if k.resource.group == "apps")


def test_kinds_are_found_by_group_version_and_kind(apps: JsonObject) -> None:
    schema = apps["components"]["schemas"]["io.k8s.api.apps.v1.Deployment"]

    assert schema["x-kubernetes-group-version-kind"] == [
        {"group": "apps", "version": "v1", "kind": "Deployment"}
    ]
    assert schema["properties"]["spec"]["allOf"] == [
        {"$ref": "#/components/schemas/io.k8s.api.apps.v1.DeploymentSpec"}
    ]
    assert schema["description"]


def test_every_reference_leads_somewhere(apps: JsonObject) -> None:
    text = orjson.dumps(apps).decode()
    prefix = '"$ref":"#/components/schemas/'
    named = {part.partition('"')[0] for part in text.split(prefix)[1:]}

    assert named <= apps["components"]["schemas"].keys()
    assert "io.k8s.api.core.v1.Container" in named


def test_lists_say_how_they_are_merged(apps: JsonObject) -> None:
    spec = apps["components"]["schemas"]["io.k8s.api.core.v1.PodSpec"]["properties"]

    assert {k: v for k, v in spec["volumes"].items() if k.startswith("x-")} == {
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "x-kubernetes-patch-merge-key": "name",
        "x-kubernetes-patch-strategy": "merge,retainKeys",
    }
    assert spec["tolerations"]["x-kubernetes-list-type"] == "atomic"


def test_clients_find_out_that_writes_can_be_tried_and_checked(apps: JsonObject) -> None:
    patch = apps["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"]

    assert [p["name"] for p in patch["parameters"]] == ["dryRun", "fieldManager", "fieldValidation"]
    assert patch["x-kubernetes-group-version-kind"]["kind"] == "Deployment"


def test_definitions_may_refer_to_themselves() -> None:
    kinds = [k for k in served_kinds() if k.resource.group == "apiextensions.k8s.io"]

    schemas = openapi.document(kinds)["components"]["schemas"]

    name = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
    assert schemas[name]["properties"]["not"] == {"$ref": f"#/components/schemas/{name}"}


def test_custom_kinds_are_described_in_place() -> None:
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "description": "What should be.",
                "required": ["size"],
                "properties": {
                    "size": {"type": "integer", "minimum": 1, "default": 2},
                    "port": {"x-kubernetes-int-or-string": True},
                },
            }
        },
    }
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    crd = {"spec": {"group": "x.dev", "scope": "Cluster", "names": names, "versions": [version]}}

    schemas = openapi.document(custom_kinds(crd))["components"]["schemas"]

    assert schemas["dev.x.v1.Widget"]["properties"]["spec"] == {
        "type": "object",
        "description": "What should be.",
        "required": ["size"],
        "properties": {
            "port": {"x-kubernetes-int-or-string": True},
            "size": {"type": "integer", "minimum": 1, "default": 2},
        },
    }
    assert "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta" in schemas


def test_the_index_changes_with_the_contents(apps: JsonObject) -> None:
    one = openapi.index({"apis/apps/v1": apps})
    other = openapi.index({"apis/apps/v1": {**apps, "info": {}}})

    url = one["paths"]["apis/apps/v1"]["serverRelativeURL"]
    assert url.startswith("/openapi/v3/apis/apps/v1?hash=")
    assert one == openapi.index({"apis/apps/v1": apps})
    assert one != other


def test_older_clients_get_definitions() -> None:
    document = openapi.v2(k for k in served_kinds() if k.resource.group == "apps")

    spec = document["definitions"]["io.k8s.api.apps.v1.Deployment"]["properties"]["spec"]
    assert spec["allOf"] == [{"$ref": "#/definitions/io.k8s.api.apps.v1.DeploymentSpec"}]
