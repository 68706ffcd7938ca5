"""Where binaries are looked for, and what is said when there are none."""

import os
from pathlib import Path

import pytest

from certwright.testkit.controlplane import AssetsMissing, find_assets, obtain_assets
from certwright.testkit.controlplane.assets import control_plane_build, kubernetes_version

NAMES = ("etcd", "kube-apiserver", "kube-controller-manager", "kubectl")


def put_binaries(folder: Path, names: tuple[str, ...] = NAMES) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    return folder


def test_kubebuilder_assets_win_over_the_cache(tmp_path: Path) -> None:
    environ = {
        "KUBEBUILDER_ASSETS": str(put_binaries(tmp_path / "named")),
        "CERTWRIGHT_CACHE": str(tmp_path / "cache"),
    }
    put_binaries(control_plane_build().cache_folder(environ) / "bin")
    found = find_assets(environ)
    assert found is not None
    assert (found.folder, found.source) == (tmp_path / "named", "KUBEBUILDER_ASSETS")


def test_incomplete_kubebuilder_assets_are_an_error_that_names_what_is_missing(
    tmp_path: Path,
) -> None:
    folder = put_binaries(tmp_path, ("etcd", "kubectl"))
    with pytest.raises(
        AssetsMissing, match="kube-apiserver, kube-controller-manager is not in it; unset it"
    ):
        find_assets({"KUBEBUILDER_ASSETS": str(folder)})


def test_the_cache_is_used_when_it_is_complete(tmp_path: Path) -> None:
    environ = {"CERTWRIGHT_CACHE": str(tmp_path)}
    assert find_assets(environ) is None
    folder = put_binaries(control_plane_build().cache_folder(environ) / "bin")
    found = find_assets(environ)
    assert found is not None
    assert (found.kubectl, found.source) == (folder / "kubectl", "cache")


def test_the_cache_folder_names_the_version_and_follows_the_xdg_convention(tmp_path: Path) -> None:
    folder = control_plane_build().cache_folder({"XDG_CACHE_HOME": str(tmp_path)})
    assert folder.parent == tmp_path / "certwright" / "controlplane"
    assert folder.name.startswith(f"{kubernetes_version()}-")


def test_without_go_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    environ = {"CERTWRIGHT_CACHE": str(tmp_path / "cache"), "PATH": str(tmp_path)}
    with pytest.raises(AssetsMissing, match=r"there is no Go: install Go 1\.26 or newer"):
        obtain_assets(environ, progress=lambda _line: None)


def test_an_old_go_is_refused_before_it_fails_obscurely(tmp_path: Path) -> None:
    go = tmp_path / "go"
    go.write_text("#!/bin/sh\necho go1.19.8\n")
    go.chmod(0o755)
    environ = {"CERTWRIGHT_CACHE": str(tmp_path / "cache"), "PATH": f"{tmp_path}:{os.defpath}"}
    with pytest.raises(AssetsMissing, match=r"is go1\.19\.8: install Go 1\.26 or newer"):
        obtain_assets(environ, progress=lambda _line: None)


def fake_go(folder: Path, script: str) -> None:
    go = folder / "go"
    go.write_text(
        f'#!/bin/sh\nif [ "$1" = env ]; then echo go1.26.1; exit 0; fi\n'
        f'while [ "$1" != -o ]; do shift; done\n{script}\n'
    )
    go.chmod(0o755)


def test_an_interrupted_build_continues_with_what_is_missing(tmp_path: Path) -> None:
    environ = {"CERTWRIGHT_CACHE": str(tmp_path / "cache"), "PATH": f"{tmp_path}:{os.defpath}"}
    put_binaries(control_plane_build().cache_folder(environ) / "bin", ("etcd", "kube-apiserver"))
    fake_go(tmp_path, 'mkdir -p "$(dirname "$2")"; echo made > "$2"; chmod +x "$2"')
    lines: list[str] = []
    assets = obtain_assets(environ, progress=lines.append)
    assert assets.source == "build"
    assert assets.kubectl.read_text() == "made\n"
    assert assets.etcd.read_text() == "#!/bin/sh\n"
    assert [line for line in lines if line.endswith("...")] == [
        "[1/2] kubectl ...",
        "[2/2] kube-controller-manager ...",
    ]


def test_a_failed_build_names_its_log_and_leaves_no_binary(tmp_path: Path) -> None:
    environ = {"CERTWRIGHT_CACHE": str(tmp_path / "cache"), "PATH": f"{tmp_path}:{os.defpath}"}
    fake_go(tmp_path, "echo no space left; exit 1")
    with pytest.raises(Exception, match="building etcd failed with exit code 1") as failure:
        obtain_assets(environ, progress=lambda _line: None)
    assert "no space left" in str(failure.value)
    assert str(control_plane_build().cache_folder(environ) / "etcd.build.log") in str(failure.value)
    assert find_assets(environ) is None
