"""What the processes of the real control plane said is there when a test failed."""

import pytest

from certwright.testkit.controlplane import find_assets

pytest_plugins = ["pytester"]

ASSETS = find_assets()


@pytest.mark.real
def test_logs_are_kept_when_a_test_fails(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    assets = ASSETS
    assert assets is not None
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets.folder))  # pytester moves the home folder
    pytester.makepyfile(
        """
        def test_fails(control_plane_kubeconfig):
            assert not control_plane_kubeconfig.exists()
        """
    )
    result = pytester.runpytest_subprocess("--certwright-real", "-p", "no:randomly")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["logs of the real control plane are in *control-plane-logs"])
    kept = {log.name for log in (pytester.path / ".pytest_cache/control-plane-logs").iterdir()}
    assert kept == {"etcd.log", "kube-apiserver.log", "kube-controller-manager.log"}
