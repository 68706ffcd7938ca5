from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from certwright.api.managedresources import (
    ManagedResource,
    ManagedResourceSpec,
    ManagedResourceStatus,
    SecretReference,
)
from certwright.kube import crd_manifest


def schema(*path: str) -> Any:
    (version,) = crd_manifest(ManagedResource)["spec"]["versions"]
    found = version["schema"]["openAPIV3Schema"]
    for name in path:
        found = found["properties"][name]
    return found


def test_the_kind_is_the_one_gardener_clients_know() -> None:
    manifest = crd_manifest(ManagedResource)
    assert manifest["metadata"] == {
        "name": "managedresources.resources.gardener.cloud",
        "labels": {"gardener.cloud/deletion-protected": "true"},
    }
    assert manifest["spec"]["names"] == {
        "kind": "ManagedResource",
        "listKind": "ManagedResourceList",
        "plural": "managedresources",
        "singular": "managedresource",
        "shortNames": ["mr"],
    }
    assert manifest["spec"]["scope"] == "Namespaced"
    (version,) = manifest["spec"]["versions"]
    assert (version["name"], version["served"], version["storage"]) == ("v1alpha1", True, True)
    assert version["subresources"] == {"status": {}}


def test_printer_columns() -> None:
    (version,) = crd_manifest(ManagedResource)["spec"]["versions"]
    columns = [(c["name"], c["type"], c["jsonPath"]) for c in version["additionalPrinterColumns"]]
    condition = '.status.conditions[?(@.type=="{}")].status'
    assert columns == [
        ("Class", "string", ".spec.class"),
        ("Applied", "string", condition.format("ResourcesApplied")),
        ("Healthy", "string", condition.format("ResourcesHealthy")),
        ("Progressing", "string", condition.format("ResourcesProgressing")),
        ("Age", "date", ".metadata.creationTimestamp"),
    ]


def test_only_the_secrets_are_required() -> None:
    assert schema("spec")["required"] == ["secretRefs"]
    assert schema("spec", "secretRefs")["items"]["properties"]["name"]["default"] == ""


def test_the_server_writes_no_defaults_into_the_specs_of_clients() -> None:
    fields = schema("spec")["properties"]
    assert len(fields) == 11
    assert [name for name, field in fields.items() if "default" in field] == []
    assert [name for name, field in fields.items() if field.get("nullable")] == []


@pytest.mark.parametrize("place", ["spec", "status"])
def test_nothing_is_validated_beyond_its_shape(place: str) -> None:
    text = repr(schema(place))
    assert "x-kubernetes-validations" not in text
    assert "pattern" not in text
    assert "enum" not in text


def test_the_server_keeps_status_fields_of_other_versions() -> None:
    assert schema("status")["x-kubernetes-preserve-unknown-fields"] is True
    assert "x-kubernetes-preserve-unknown-fields" not in schema("spec")


def test_what_is_unset_is_not_sent_and_counts_as_false() -> None:
    spec = ManagedResourceSpec(secret_refs=[SecretReference("a")])
    assert msgspec.to_builtins(spec) == {"secretRefs": [{"name": "a"}]}
    assert not spec.keep_objects
    assert spec.class_ is UNSET


def test_the_whole_spec() -> None:
    written = {
        "class": "seed",
        "secretRefs": [{"name": "a"}, {"name": "b"}],
        "injectLabels": {"a": "b"},
        "forceOverwriteLabels": True,
        "forceOverwriteAnnotations": False,
        "keepObjects": True,
        "equivalences": [[{"group": "a", "kind": "A"}, {"group": "b", "kind": "A"}]],
        "deletePersistentVolumeClaims": True,
        "dependsOn": [{"name": "first"}],
        "suspend": True,
    }
    assert msgspec.to_builtins(msgspec.convert(written, ManagedResourceSpec)) == written


def test_the_whole_status() -> None:
    written = {
        "conditions": [
            {
                "type": "ResourcesApplied",
                "status": "Progressing",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
                "lastUpdateTime": "2026-01-01T00:00:00Z",
                "reason": "ApplyProgressing",
                "message": "m",
                "codes": ["ERR_X"],
            }
        ],
        "observedGeneration": 3,
        "resources": [
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "namespace": "a",
                "name": "b",
                "labels": {"a": "b"},
                "annotations": {"c": "d"},
            },
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "fieldPath": "data.inventory"},
        ],
        "secretsDataChecksum": "00",
        "summary": {"total": 1, "failed": 1},
        "objects": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "b", "action": "failed"}],
    }
    assert msgspec.to_builtins(msgspec.convert(written, ManagedResourceStatus)) == written


def test_an_object_without_a_spec_can_be_read() -> None:
    assert msgspec.convert({"metadata": {"name": "a"}}, ManagedResource).spec.secret_refs == []
