"""The chart as it is packaged, and what of its objects is kept."""

from typing import Any

import pytest
from tests.support.bundles.small import deployment, objects

from certwright.bundles.chart import as_released, complete_chart, release_values
from certwright.bundles.errors import BuildError

CHART = b"apiVersion: v2\nname: cert-manager\nversion: v0.0.0\nappVersion: v0.0.0\n"


def test_the_chart_gets_its_version() -> None:
    made = complete_chart({"Chart.yaml": CHART}, {}, "v1.21.2")
    assert b"\nversion: v1.21.2\nappVersion: v1.21.2\n" in made["Chart.yaml"]


def test_a_chart_that_has_no_version_at_all() -> None:
    made = complete_chart({"Chart.yaml": b"name: cert-manager"}, {}, "v1.21.2")
    assert made["Chart.yaml"].decode().split() == [
        "name:", "cert-manager", "version:", "v1.21.2", "appVersion:", "v1.21.2",
    ]  # fmt: skip


def test_the_template_of_a_chart_becomes_the_chart() -> None:
    template = CHART + b'annotations:\n  prerelease: "{{IS_PRERELEASE}}"\n'
    made = complete_chart({"Chart.template.yaml": template}, {}, "v1.20.3")
    assert set(made) == {"Chart.yaml"}
    assert b'prerelease: "false"' in made["Chart.yaml"]


def test_definitions_that_lie_beside_the_chart_are_added() -> None:
    definitions = {
        "crd-issuers.yaml": b"a",
        "crd-issuers.v1beta1.yaml": b"b",
        "README.md": b"c",
        "BUILD.bazel": b"d",
    }
    chart = {"Chart.yaml": CHART, "templates/rbac.yaml": b"e", "templates/BUILD.bazel": b"f"}
    made = complete_chart(chart, definitions, "v1.0.4")
    assert sorted(made) == ["Chart.yaml", "templates/crd-issuers.yaml", "templates/rbac.yaml"]
    assert made["templates/crd-issuers.yaml"] == b"a"


@pytest.mark.parametrize(
    "name", ["templates/crd-acme.cert-manager.io_orders.yaml", "templates/crds.yaml"]
)
def test_definitions_of_the_chart_are_not_added_twice(name: str) -> None:
    made = complete_chart({"Chart.yaml": CHART, name: b"a"}, {"orders.yaml": b"b"}, "v1.21.2")
    assert sorted(made) == ["Chart.yaml", name]


def test_what_is_no_chart() -> None:
    with pytest.raises(BuildError, match=r"v1\.21\.2 has neither Chart\.yaml nor"):
        complete_chart({"values.yaml": b""}, {}, "v1.21.2")


@pytest.mark.parametrize(
    ("values", "crds"),
    [
        (b"installCRDs: false\n", "installCRDs=true"),
        (b"# crds:\ninstallCRDs: false\ncrds:\n  enabled: false\n", "crds.enabled=true"),
    ],
)
def test_the_values_of_a_release(values: bytes, crds: str) -> None:
    assert release_values({"values.yaml": values}) == [
        "creator=static", "startupapicheck.enabled=false", crds,
    ]  # fmt: skip


def test_helm_leaves_no_labels_behind() -> None:
    obj = deployment("cert-manager", "controller:1")
    helm = {"helm.sh/chart": "cert-manager-v1.0.4", "app.kubernetes.io/managed-by": "Helm"}
    obj["metadata"]["labels"] |= helm
    obj["spec"]["template"]["metadata"]["labels"] |= helm
    kept = as_released("v1.0.4", [obj]).objects[1]
    assert kept["metadata"]["labels"] == {"app": "cert-manager"}
    assert kept["spec"]["template"]["metadata"]["labels"] == {"app": "cert-manager"}
    assert "helm.sh/chart" in obj["metadata"]["labels"]  # what was given is not changed


def test_the_namespace_is_added_if_it_is_not_there() -> None:
    rest = [obj for obj in objects() if obj["kind"] != "Namespace"]
    assert as_released("v9.9.1", rest) == as_released("v9.9.1", objects())


@pytest.mark.parametrize("bad", [[{"kind": "a"}], [{"spec": {"template": 1}}], [{"metadata": 1}]])
def test_what_is_no_object(bad: Any) -> None:
    with pytest.raises(BuildError, match=r"cert-manager v9\.9\.1: object 1 lacks"):
        as_released("v9.9.1", bad)
