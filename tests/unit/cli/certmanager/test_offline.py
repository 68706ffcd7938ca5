"""`certwright cert-manager versions` and `render`: nothing of a cluster is needed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.unit.cli.certmanager.conftest import SMALL, Run

from certwright.bundles.catalogue import load

Declare = Callable[..., Path]


def test_versions_name_what_is_there_and_what_brings_the_others(run: Run) -> None:
    done = run("versions")
    lines = [line.split() for line in done.out.splitlines()]
    assert done.code == 0
    assert lines[0] == ["VERSION", "KUBERNETES", "BUNDLE", "DEFAULT"]
    small = next(line for line in lines if line[0] == SMALL)
    assert small[-2:] == [f"bundles/cert-manager-{SMALL}.bundle", "-"]
    [default] = [line for line in lines[1:] if line[-1] == "yes"]
    assert default[0] == load().default
    assert default[1:4] == ["1.33", "to", "1.36"]
    assert default[4:-1] == ["certwright", "bundle", "build", load().default]


def test_versions_for_programs(run: Run) -> None:
    told = json.loads(run("versions", "-o", "json").out)
    assert told["default"] == load().default
    assert {one["version"] for one in told["versions"]} == {*load().versions, SMALL}


def rendered(out: str) -> dict[tuple[str, str], Any]:
    return {(one["kind"], one["metadata"]["name"]): one for one in yaml.safe_load_all(out)}


def test_render_prints_what_would_be_applied(run: Run, declare: Declare) -> None:
    done = run("render", "-f", declare(version=SMALL, controller={"replicas": 2}))
    assert (done.code, done.err) == (0, "")
    objects = rendered(done.out)
    assert objects["Deployment", "cert-manager"]["spec"]["replicas"] == 2
    kinds = [kind for kind, _ in objects]
    assert kinds.index("CustomResourceDefinition") < kinds.index("Deployment")


def test_without_a_version_the_newest_that_is_there_is_rendered(run: Run, declare: Declare) -> None:
    objects = rendered(run("render", "-f", declare()).out)
    image = objects["Deployment", "cert-manager"]["spec"]["template"]["spec"]["containers"][0]
    assert image["image"].endswith(SMALL)


def test_a_misspelt_field_is_told(run: Run, declare: Declare) -> None:
    spec = {"versoin": SMALL, "controller": {"replica": 2}, "images": {"registry": "r.example"}}
    done = run("render", "-f", declare(**spec))
    ignored = "is not a field of CertManagerDeployment, and is ignored"
    assert done.code == 0
    assert [line.partition("cr.yaml: ")[2] for line in done.err.splitlines()] == [
        f"spec.controller.replica {ignored}",
        f"spec.versoin {ignored}",
    ]


def test_a_component_with_a_wrong_flag_is_left_out(run: Run, declare: Declare) -> None:
    flags = {"containerArgOverrides": {"webhook": {"no-such-flag": "1"}}}
    done = run("render", "-f", declare(version=SMALL, dangerZone=flags))
    assert done.code == 2
    assert "UnknownFlag" in done.err
    assert "no-such-flag" in done.err
    assert ("Deployment", "cert-manager-webhook") not in rendered(done.out)
    assert ("Deployment", "cert-manager") in rendered(done.out)


@pytest.mark.parametrize(
    ("name", "spec", "told"),
    [
        ("cluster", {"version": "v1.20.3"}, "run: certwright bundle build v1.20.3"),
        ("cluster", {"version": "v1.99.0"}, "the catalogue does not have it either"),
        ("cluster", {"version": "latest"}, "$.spec.version"),
        ("other", {}, "only the CertManagerDeployment cluster is acted on"),
    ],
)
def test_what_cannot_be_rendered_is_told_in_one_line(
    run: Run, declare: Declare, name: str, spec: dict[str, Any], told: str
) -> None:
    done = run("render", "-f", declare(name, **spec))
    assert (done.code, done.out) == (2, "")
    assert told in done.err
    assert len(done.err.splitlines()) == 1


def test_a_file_without_an_installation(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "other.yaml"
    path.write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}", "utf-8")
    done = run("render", "-f", path)
    assert (done.code, done.out) == (2, "")
    assert "one CertManagerDeployment or CertManager is expected, and there is none" in done.err


def test_a_certmanager_without_a_version_means_0_10(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "cr.yaml"
    head = {"apiVersion": "operator.ibm.com/v1alpha1", "kind": "CertManager"}
    path.write_text(yaml.safe_dump({**head, "metadata": {"name": "default"}}), "utf-8")
    done = run("render", "-f", path)
    assert (done.code, done.err) == (0, "")
    assert ("Deployment", "cert-manager-controller") in rendered(done.out)
