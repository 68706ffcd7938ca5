"""kubectl moves from client-side to server-side apply."""

from typing import Any

import orjson
import pytest

from certwright.apiserver.fields import manager as fieldmanager
from certwright.apiserver.kinds.kind import ServedKind
from certwright.kube.errors import Conflict

ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
NOW = "2026-01-01T00:00:00Z"


def config(spec: Any, annotations: Any = None) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": "t"}
    if annotations is not None:
        metadata["annotations"] = annotations
    return {
        "apiVersion": "example.dev/v1",
        "kind": "Thing",
        "metadata": metadata,
        "spec": spec,
    }


@pytest.fixture
def live(thing: ServedKind) -> dict[str, Any]:
    """An object made by client-side apply, whose replicas somebody changed since."""
    applied = {"replicas": 1, "title": "a"}
    text = orjson.dumps(config(applied)).decode()
    created = fieldmanager.update(
        None,
        config(applied, {ANNOTATION: text}),
        kind=thing,
        manager="kubectl-client-side-apply",
        time=NOW,
    )
    scaled = config({"replicas": 5, "title": "a"}, {ANNOTATION: text})
    return fieldmanager.update(created, scaled, kind=thing, manager="someone", time=NOW)


def apply(live: Any, spec: Any, kind: ServedKind, manager: str = "kubectl") -> dict[str, Any]:
    return fieldmanager.apply(live, config(spec), kind=kind, manager=manager, force=False, time=NOW)


def test_what_kubectl_applied_before_is_no_conflict(live: Any, thing: ServedKind) -> None:
    applied = apply(live, {"title": "b"}, thing)

    assert applied["spec"] == {"replicas": 5, "title": "b"}


def test_the_annotation_follows(live: Any, thing: ServedKind) -> None:
    applied = apply(live, {"title": "<b>"}, thing)

    assert applied["metadata"]["annotations"][ANNOTATION] == (
        '{"apiVersion":"example.dev/v1","kind":"Thing","metadata":{"name":"t"},"spec":{"title":"\\u003cb\\u003e"}}\n'
    )


def test_what_changed_since_is_a_conflict(live: Any, thing: ServedKind) -> None:
    with pytest.raises(Conflict) as refusal:
        apply(live, {"replicas": 2, "title": "b"}, thing)

    assert [cause.field for cause in refusal.value.causes] == [".spec.replicas"]


def test_other_managers_get_no_such_favour(live: Any, thing: ServedKind) -> None:
    with pytest.raises(Conflict, match="kubectl-client-side-apply"):
        apply(live, {"title": "b"}, thing, "argocd")


@pytest.mark.parametrize("text", ["", "{", "[]", "1", '{"apiVersion":"v1"}', '{"spec":1}'])
def test_an_unreadable_annotation_allows_nothing(live: Any, thing: ServedKind, text: str) -> None:
    live["metadata"]["annotations"][ANNOTATION] = text

    with pytest.raises(Conflict, match="kubectl-client-side-apply"):
        apply(live, {"title": "b"}, thing)


def test_objects_without_the_annotation_do_not_get_one(thing: ServedKind) -> None:
    created = apply(None, {"title": "b"}, thing)

    assert "annotations" not in created["metadata"]
