"""Bundles from release manifests and charts."""

import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support.bundles.small import definition, deployment, objects, small_bundle
from tests.support.bundles.tools import Tools

from certwright.bundles.errors import BuildError, ToolMissing
from certwright.bundles.manifest import import_bundle


def written(folder: Path, *parts: Any) -> Path:
    path = folder / "cert-manager.yaml"
    path.write_text(yaml.safe_dump_all(parts))
    return path


def chart(folder: Path, version: str = "v9.9.1") -> Path:
    root = folder / "cert-manager"
    (root / "templates").mkdir(parents=True)
    (root / "Chart.yaml").write_text(f"name: cert-manager\nappVersion: {version}\n")
    (root / "values.yaml").write_text("crds:\n  enabled: false\n")
    (root / "templates" / "crds.yaml").write_text("")
    return root


def test_the_manifest_of_a_release(tmp_path: Path) -> None:
    assert import_bundle(written(tmp_path, *objects())) == small_bundle()


def test_a_version_of_its_own(tmp_path: Path) -> None:
    bundle = import_bundle(written(tmp_path, *objects()), "v9.9.1-mine.1")
    assert bundle.version == "v9.9.1-mine.1"
    assert bundle.digest == small_bundle().digest


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        ([], "version cannot be told from the images; add --version"),
        ([deployment("a", "nginx:1")], "version cannot be told from the images; add --version"),
        (
            [
                deployment("a", "x/cert-manager-controller:v1.0.0"),
                deployment("b", "x/cert-manager-controller:v1.0.1"),
            ],
            r"found: v1\.0\.0, v1\.0\.1\); add --version",
        ),
        (
            [deployment("a", "x/cert-manager-controller:v1.0.0")],
            "lacks the six CustomResourceDefinitions of cert-manager and three Deployments and",
        ),
        (
            [deployment("a", "x/cert-manager-controller:latest")],
            "latest: 'latest' is not a version",
        ),
        ([{"kind": "Deployment"}], "a Deployment without containers"),
        ([{"kind": "Deployment", "spec": 1}], "a Deployment without containers"),
        (["text"], "text instead of an object"),
        ([*objects(), objects()[0]], "there are two of ValidatingWebhookConfiguration"),
    ],
)
def test_what_is_not_the_whole_of_cert_manager(
    tmp_path: Path, parts: list[Any], problem: str
) -> None:
    with pytest.raises(BuildError, match=problem):
        import_bundle(written(tmp_path, *parts))


def test_definitions_alone_are_not_enough(tmp_path: Path) -> None:
    crds = [obj for obj in objects() if obj["kind"] == "CustomResourceDefinition"]
    with pytest.raises(BuildError, match=r"lacks three Deployments .* use cert-manager\.yaml"):
        import_bundle(written(tmp_path, *crds, definition("a.b")), "v9.9.1")


def test_a_folder_of_manifests(tmp_path: Path) -> None:
    written(tmp_path, *objects())
    assert import_bundle(tmp_path) == small_bundle()


def test_a_chart_in_a_folder(tmp_path: Path, tools: Tools) -> None:
    tools.helm()
    assert import_bundle(chart(tmp_path), environ=tools.environ) == small_bundle()
    assert "crds.enabled=true" in tools.helm_arguments


def test_a_chart_in_an_archive(tmp_path: Path, tools: Tools) -> None:
    tools.helm()
    packed = tmp_path / "cert-manager-v9.9.1.tgz"
    with tarfile.open(packed, "w:gz") as archive:
        archive.add(chart(tmp_path), "cert-manager")
    assert import_bundle(packed, environ=tools.environ) == small_bundle()
    assert tools.helm_arguments[2] == str(packed)
    assert "crds.enabled=true" in tools.helm_arguments


@pytest.mark.parametrize("version", ["v0.0.0", "v0.1.0", "", "latest"])
def test_the_sources_of_a_chart_have_no_version(tmp_path: Path, tools: Tools, version: str) -> None:
    tools.helm()
    with pytest.raises(
        BuildError, match=r"Chart\.yaml has no version of cert-manager .* add --version"
    ):
        import_bundle(chart(tmp_path, version), environ=tools.environ)


def test_an_archive_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "chart.tgz").write_bytes(b"nonsense")
    with pytest.raises(BuildError, match=r"chart\.tgz cannot be read"):
        import_bundle(tmp_path / "chart.tgz")


def test_a_chart_without_helm(tmp_path: Path, tools: Tools) -> None:
    with pytest.raises(ToolMissing, match="there is no Helm"):
        import_bundle(chart(tmp_path), environ=tools.environ)
