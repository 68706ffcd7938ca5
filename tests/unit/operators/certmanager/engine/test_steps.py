"""Which way leads from what runs to what is wanted."""

from typing import Any

import pytest

from certwright.apply import Declared, ObjectRef
from certwright.kube import JsonObject
from certwright.operators.certmanager.engine.observed import ComponentState
from certwright.operators.certmanager.engine.preflight import (
    Hindrance,
    Surroundings,
    is_forbidden,
    preflight,
)
from certwright.operators.certmanager.engine.steps import (
    DOWNWARDS,
    UPWARDS,
    StepOrder,
    Wanted,
    course,
    path,
)
from certwright.operators.certmanager.render import InstallStep
from certwright.operators.certmanager.request import Component, InstallRequest, UpgradePolicy

REF = ObjectRef("apps/v1", "Deployment", "cert-manager", "cert-manager")
KNOWN = ("v1.16.5", "v1.17.4", "v1.18.6", "v1.19.5", "v1.20.2", "v1.20.3", "v1.21.2")


def running(*versions: str) -> list[ComponentState]:
    return [
        ComponentState(component=component, ref=REF, found=bool(version), version=version)
        for component, version in zip(Component, versions, strict=True)
    ]


@pytest.mark.parametrize(
    ("versions", "installed", "expected"),
    [
        (("", "", ""), "", StepOrder()),
        (("v1.21.2",) * 3, "v1.21.2", StepOrder()),
        (("v1.20.3",) * 3, "v1.20.3", StepOrder(UPWARDS, ("v1.20.3",))),
        (("v1.20.3", "v1.21.2", ""), "", StepOrder(UPWARDS, ("v1.20.3",))),
        (("v1.21.2",) * 3, "v1.20.3", StepOrder(UPWARDS, ("v1.20.3",))),
        (("v1.22.0",) * 3, "v1.22.0", StepOrder(DOWNWARDS, ("v1.22.0",))),
        (("", "", ""), "v1.20.3", StepOrder()),
    ],
)
def test_the_way(versions: tuple[str, str, str], installed: str, expected: StepOrder) -> None:
    assert course("v1.21.2", running(*versions), installed) == expected


def test_pods_of_the_version_that_is_left_count_until_the_end() -> None:
    written = running(*["v1.20.3"] * 3)
    assert course("v1.20.3", written, "v1.20.3") == StepOrder()
    back = course("v1.20.3", written, "v1.20.3", ["v1.21.2", "v1.19.5"])
    assert back == StepOrder(DOWNWARDS, ("v1.19.5", "v1.21.2"))


def test_the_path_takes_the_newest_patch_of_each_minor() -> None:
    assert path("v1.18.6", "v1.21.2", KNOWN) == ["v1.19.5", "v1.20.3", "v1.21.2"]
    assert path("v1.20.3", "v1.21.2", KNOWN) == ["v1.21.2"]


def nothing(version: str) -> Wanted:
    return Wanted(version=version, steps={})


def test_all_obstacles_are_found_at_once() -> None:
    request = InstallRequest(version="v1.21.2", namespace="kube-system")
    around = Surroundings(
        kubernetes="1.20",
        window=("1.29", "1.34"),
        foreign=(REF,),
        namespace_terminating=True,
        installed_in="cert-manager",
        known_versions=KNOWN,
    )
    way = course("v1.21.2", running(*["v1.16.5"] * 3))
    found = {one.reason for one in preflight(request, nothing("v1.21.2"), way, around)}
    assert found == {
        Hindrance.FORBIDDEN_NAMESPACE,
        Hindrance.NAMESPACE_TERMINATING,
        Hindrance.NAMESPACE_CHANGED,
        Hindrance.FOREIGN_INSTALLATION,
        Hindrance.KUBERNETES_VERSION,
        Hindrance.VERSIONS_SKIPPED,
    }


def test_the_way_back_to_what_worked_is_open() -> None:
    request = InstallRequest(version="v1.20.3")
    way = course("v1.20.3", running("v1.20.3", "v1.21.2", "v1.21.2"), "v1.20.3")
    around = Surroundings(installed="v1.20.3")
    assert preflight(request, nothing("v1.20.3"), way, around) == ()
    refused = preflight(request, nothing("v1.20.3"), way, Surroundings(installed="v1.21.2"))
    assert [one.reason for one in refused] == [Hindrance.DOWNGRADE_REFUSED]
    allowed = InstallRequest(version="v1.20.3", upgrade=UpgradePolicy(allow_downgrade=True))
    assert preflight(allowed, nothing("v1.20.3"), way, Surroundings(installed="v1.21.2")) == ()


@pytest.mark.parametrize(
    ("name", "forbidden"),
    [
        ("cert-manager", False),
        ("kube-system", True),
        ("openshift-dns", True),
        ("kubernetes", False),
    ],
)
def test_namespaces_of_the_platform(name: str, *, forbidden: bool) -> None:
    assert is_forbidden(name) is forbidden


def declared(kind: str, name: str, **content: Any) -> Declared:
    head = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind}
    return Declared({**head, "metadata": {"name": name}, **content})


def roles(version: str, *objects: Declared) -> Wanted:
    return Wanted(version=version, steps={InstallStep.ROLES: objects})


def test_roles_keep_the_rules_of_another_version() -> None:
    read, write = {"verbs": ["get"]}, {"verbs": ["update"]}
    account = declared("ServiceAccount", "a")
    older = roles("v1.20.3", declared("ClusterRole", "a", rules=[write, read]), account)
    newer = roles("v1.21.2", declared("ClusterRole", "a", rules=[read]), account)
    widened = newer.with_rights_of(older).objects
    assert widened[0].obj["rules"] == [read, write]
    assert widened[1] is account
    assert newer.with_rights_of(newer) is newer
    assert older.with_rights_of(newer) is older
    gone = declared("ClusterRole", "b", rules=[read])
    more = roles("v1.20.3", *older.objects, gone)
    assert [one.ref.name for one in newer.with_rights_of(more).objects] == ["a", "a", "b"]


def deployment(image: str, **labels: str) -> JsonObject:
    pod = {"containers": [{"name": "cert-manager-controller", "image": image}]}
    template = {"metadata": {"labels": {"app": "cert-manager", **labels}}, "spec": pod}
    head = {"apiVersion": REF.api_version, "kind": REF.kind}
    metadata = {"name": REF.name, "namespace": REF.namespace}
    return {**head, "metadata": metadata, "spec": {"template": template}}


@pytest.mark.parametrize(("image", "spared"), [("a:1", 1), ("a:2", 0)])
def test_pods_are_spared_for_labels_of_helm_unless_their_image_changes(
    image: str, spared: int
) -> None:
    one = Declared(deployment("a:1"))
    steps = {InstallStep.CONTROLLER: (one,)}
    wanted = Wanted(version="v1.21.2", steps=steps, deployments={Component.CONTROLLER: REF})
    live = deployment(image, **{"helm.sh/chart": "x", "other": "y"})
    [found] = wanted.sparing_pods({Component.CONTROLLER: live}).objects
    label = ("spec", "template", "metadata", "labels", "helm.sh/chart")
    assert found.rules.ignored == (label,) * spared
