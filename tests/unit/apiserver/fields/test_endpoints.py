from dataclasses import replace

import pytest

from certwright.apiserver.builtins import served_kinds
from certwright.apiserver.fields.endpoints import blank, ignored_fields
from certwright.apiserver.fields.fieldset import paths
from certwright.apiserver.kinds.kind import ServedKind
from certwright.apiserver.schema.schema import Schema
from certwright.kube.objects import Resource


def built_in(kind: str) -> ServedKind:
    resource = Resource("apps", "v1", kind, kind.lower() + "s")
    return ServedKind(resource, Schema("object"), "", "", subresources=frozenset({"status"}))


@pytest.mark.parametrize(
    ("kind", "main", "status"),
    [
        ("StatefulSet", [".status"], [".spec"]),
        ("Deployment", [".status"], [".spec", ".metadata.labels"]),
        ("APIService", [".status"], [".metadata", ".spec"]),
        ("Pod", [".status"], [".spec", ".metadata.deletionTimestamp", ".metadata.ownerReferences"]),
        ("CertificateSigningRequest", [".spec", ".status"], [".spec", ".status.conditions"]),
    ],
)
def test_what_endpoints_of_built_ins_ignore(kind: str, main: list[str], status: list[str]) -> None:
    served = built_in(kind)

    assert list(paths(ignored_fields(served, ""))) == main
    assert list(paths(ignored_fields(served, "status"))) == status


def test_what_endpoints_of_custom_resources_ignore(thing: ServedKind) -> None:
    assert list(paths(ignored_fields(thing, ""))) == [".status"]
    assert list(paths(ignored_fields(thing, "status"))) == [".metadata", ".spec"]
    assert ignored_fields(replace(thing, subresources=frozenset()), "") == {}


def test_custom_resources_begin_with_nothing(thing: ServedKind) -> None:
    assert blank(thing) == {"apiVersion": "example.dev/v1", "kind": "Thing"}


def test_built_ins_begin_with_structs_and_what_is_always_printed() -> None:
    kind = next(kind for kind in served_kinds() if kind.resource.kind == "Deployment")

    assert blank(kind) == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {},
        "spec": {
            "selector": None,
            "template": {"metadata": {}, "spec": {"containers": None}},
            "strategy": {},
        },
        "status": {},
    }
