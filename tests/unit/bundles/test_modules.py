"""The catalogue compared with the modules that cert-manager publishes.

A few versions in every run, all of them with ``make test-real``. Since 1.12 the code of the
controller and of cainjector is not part of the published module: their flags cannot be compared.
"""

import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support.bundles.gosource import GoSource
from tests.support.bundles.released import released

from certwright.bundles.build import build, render_module
from certwright.bundles.bundle import encode, make_bundle
from certwright.bundles.catalogue import COMPONENTS, load
from certwright.bundles.errors import ModuleUnavailable, ToolMissing
from certwright.bundles.images import images_of
from certwright.bundles.manifest import import_bundle
from certwright.bundles.module import ModuleArchive, fetch
from certwright.bundles.sources import file_name, read_file
from certwright.bundles.versions import Minor, Release
from certwright.testkit.certmanager.released import released_bundle

CATALOGUE = load()
DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
FEW = {"v1.1.0", "v1.11.5", "v1.21.2"}
VERSIONS = [
    version if version in FEW else pytest.param(version, marks=pytest.mark.real)
    for version in CATALOGUE.versions
]
LIBRARIES = {
    # declared by klog, component-base and controller-runtime
    "add_dir_header", "alsologtostderr", "log-flush-frequency", "log_backtrace_at", "log_dir",
    "log_file", "log_file_max_size", "logging-format", "logtostderr", "one_output", "skip_headers",
    "skip_log_headers", "stderrthreshold", "v", "vmodule", "feature-gates",
}  # fmt: skip
BY_CONTROLLER_RUNTIME = {"kubeconfig", "master"}


@cache
def module(version: str) -> ModuleArchive:
    try:
        return fetch(CATALOGUE.version(version))
    except (ToolMissing, ModuleUnavailable) as error:
        pytest.skip(f"{error}; or run: make go")


@cache
def source(version: str) -> GoSource:
    archive = module(version)
    return GoSource(archive.path, archive.prefix)


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_rendered_has_the_pinned_digest(version: str) -> None:
    bundle = released(version)
    assert bundle.digest == CATALOGUE.version(version).digest
    kinds = [obj["kind"] for obj in bundle.objects]
    assert kinds.count("CustomResourceDefinition") == 6
    assert kinds.count("Deployment") == 3
    assert kinds[0] == "Namespace"
    assert len(encode(bundle)) < 100 * 1024
    tag = f":{version}"
    assert [image.rpartition("/")[2] for image in images_of(bundle)] == [
        f"cert-manager-acmesolver{tag}",
        f"cert-manager-cainjector{tag}",
        f"cert-manager-controller{tag}",
        f"cert-manager-webhook{tag}",
    ]
    text = encode(bundle)
    assert b"helm.sh/chart" not in text


@pytest.mark.parametrize("kubernetes", ["1.22.0", "1.36.0"])
@pytest.mark.parametrize("version", ["v1.21.2", *(
    pytest.param(version, marks=pytest.mark.real) for version in ("v1.0.4", "v1.7.3", "v1.14.7")
)])  # fmt: skip
def test_the_version_of_kubernetes_makes_no_difference(version: str, kubernetes: str) -> None:
    try:
        bundle = render_module(module(version), version, kubernetes=kubernetes)
    except ToolMissing as error:
        pytest.skip(f"{error}; or run: make helm")
    assert bundle.digest == CATALOGUE.version(version).digest


@pytest.mark.real
@pytest.mark.parametrize("version", CATALOGUE.versions)
def test_a_version_is_built_from_nothing_but_its_module(version: str) -> None:
    """Without what a cache of bundles may have kept."""
    try:
        bundle = build(version, CATALOGUE)
    except (ToolMissing, ModuleUnavailable) as error:
        pytest.skip(f"{error}; or run: make go helm")
    assert bundle.digest == CATALOGUE.version(version).digest


@pytest.mark.parametrize("component", COMPONENTS)
@pytest.mark.parametrize("version", VERSIONS)
def test_flags_are_those_of_the_sources(version: str, component: str) -> None:
    declared = source(version).flags(component)
    if component != "webhook" and Release.parse(version).minor >= Minor(1, 12):
        assert not declared, "the module has the code of this program again: compare it"
        return
    known = {name: flag.type for name, flag in CATALOGUE.flags(component, version).items()}
    assert declared == {name: known.get(name) for name in declared}
    libraries = LIBRARIES | (BY_CONTROLLER_RUNTIME if component == "cainjector" else set())
    assert known.keys() - declared.keys() <= libraries


@pytest.mark.parametrize("component", COMPONENTS)
@pytest.mark.parametrize("version", VERSIONS)
def test_feature_gates_are_those_of_the_sources(version: str, component: str) -> None:
    minor = Release.parse(version).minor
    known: dict[str, Any] = {}
    for name, gate in CATALOGUE.feature_gates(component, version).items():
        stage = gate.stage_in(minor)
        assert stage is not None
        known[name] = (stage.stage, stage.default)
    assert known == source(version).gates(component)


@pytest.mark.parametrize("component", COMPONENTS)
def test_defaults_of_releases_are_flags_that_exist(component: str) -> None:
    """Every argument of a Deployment is one that the catalogue has for its version."""
    for version in sorted(FEW):
        flags = CATALOGUE.flags(component, version)
        (args,) = [
            container["args"]
            for obj in released(version).objects
            if obj["kind"] == "Deployment"
            for container in obj["spec"]["template"]["spec"]["containers"]
            if f"cert-manager-{component}:" in container["image"]
        ]
        used = {arg.removeprefix("--").partition("=")[0] for arg in args}
        assert used <= flags.keys(), version


def test_go_is_asked_through_the_proxy_that_is_configured() -> None:
    """What is in the cache of modules needs no network."""
    module("v1.21.2")
    offline = {**os.environ, "GOPROXY": "off"}
    assert fetch(CATALOGUE.version("v1.21.2"), offline).path == module("v1.21.2").path


def test_a_manifest_of_a_release_is_recognised(tmp_path: Path) -> None:
    """What is written out and imported again is the release, whatever the order of objects."""
    bundle = released("v1.21.2")
    path = tmp_path / "cert-manager.yaml"
    path.write_text(yaml.dump_all(reversed(bundle.objects), Dumper=DUMPER))
    again = import_bundle(path)
    assert again == bundle
    assert CATALOGUE.check(again)


def test_the_cache_of_tests_is_not_trusted(tmp_path: Path) -> None:
    bundle = released("v1.21.2")
    path = tmp_path / "bundles" / file_name("v1.21.2")
    path.parent.mkdir()
    path.write_bytes(encode(make_bundle("v1.21.2", bundle.objects[1:])))
    module("v1.21.2")
    try:
        again = released_bundle(
            "v1.21.2", {**os.environ, "CERTWRIGHT_CACHE": str(tmp_path)}, lambda _: None
        )
    except ToolMissing as error:
        pytest.skip(f"{error}; or run: make helm")
    assert again == bundle
    assert read_file(path).unpack() == bundle
