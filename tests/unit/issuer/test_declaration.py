"""What authors declare, and what is refused before anything runs."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from msgspec import Struct

from certwright.issuer import IssuerApp
from certwright.kube import crd_manifest


@dataclass(frozen=True)
class Spec:
    """Where the authority is."""

    url: str
    retry_limit: int = 3


def app(**options: Any) -> IssuerApp[Any]:
    return IssuerApp(**{"group": "pki.example.com", "kind": "DemoIssuer", "spec": Spec, **options})


@pytest.mark.parametrize(
    ("kind", "cluster"),
    [("DemoIssuer", "DemoClusterIssuer"), ("Demo", "ClusterDemo"), ("CAIssuer", "CAClusterIssuer")],
)
def test_the_cluster_kind_is_named_after_the_namespaced_one(kind: str, cluster: str) -> None:
    made = app(kind=kind).cluster_kind
    assert made is not None
    assert made.resource.kind == cluster


def test_either_kind_may_be_left_out() -> None:
    assert [one.resource.kind for one in app(cluster=False).kinds] == ["DemoIssuer"]
    assert [one.resource.kind for one in app(namespaced=False).kinds] == ["DemoClusterIssuer"]
    assert [one.resource.kind for one in app(cluster_kind="X").kinds] == ["DemoIssuer", "X"]


@pytest.mark.scenario("ISS-94")
def test_the_spec_becomes_the_schema() -> None:
    kind = app().namespaced_kind
    assert kind is not None
    manifest = crd_manifest(kind)
    [version] = manifest["spec"]["versions"]
    schema = version["schema"]["openAPIV3Schema"]["properties"]
    assert schema["spec"]["required"] == ["url"]
    assert schema["spec"]["properties"]["retryLimit"] == {"type": "integer", "default": 3}
    conditions = schema["status"]["properties"]["conditions"]
    assert conditions["x-kubernetes-list-map-keys"] == ["type"]
    assert version["subresources"] == {"status": {}}
    names = [column["name"] for column in version["additionalPrinterColumns"]]
    assert names == [
        "Ready", "Reason", "Message", "LastTransition", "ObservedGeneration", "Generation", "Age",
    ]  # fmt: skip


@pytest.mark.scenario("ISS-100")
@pytest.mark.parametrize(("given", "kept"), [(0, 1), (5, 5)])
def test_there_is_at_least_one_worker(given: int, kept: int) -> None:
    """Upstream's two rows about concurrency."""
    assert app(workers=given).settings.workers == kept


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"field_owner": ""}, "field_owner is empty"),
        ({"certificate_requests": False, "kubernetes_csrs": False}, "must enable at least one"),
        ({"max_retry": timedelta(seconds=-1)}, "must not be negative"),
        ({"sign_timeout": timedelta()}, "must be positive"),
        ({"group": "nodots"}, "not a domain with a dot"),
        ({"namespaced": False, "cluster": False}, "at least one kind"),
    ],
)
def test_what_cannot_work_is_refused_at_once(
    options: dict[str, bool | str | timedelta], complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        app(**options)


def test_a_spec_is_a_dataclass_or_a_struct() -> None:
    class Typed(Struct):
        url: str

    assert app(spec=Typed).spec.wire is Typed
    with pytest.raises(TypeError, match="use a dataclass or a msgspec Struct"):
        app(spec=dict)


def test_an_app_without_sign_does_not_run() -> None:
    with pytest.raises(TypeError, match=r"@app\.sign"):
        _ = app().operator


def test_classes_are_subclasses_of_issuer() -> None:
    with pytest.raises(TypeError, match="must be a subclass"):

        @app().issuer
        class Wrong:  # type: ignore[type-var]  # a wrong class is what is tried
            def check(self) -> None:
                """Do nothing."""

            def sign(self, _request: Any) -> None:
                """Do nothing."""
