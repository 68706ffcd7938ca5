from pathlib import Path

import pytest

from certwright.testkit.envoy import EnvoyMissing, find_envoy


def test_the_environment_names_an_envoy(tmp_path: Path) -> None:
    binary = tmp_path / "envoy"
    binary.touch(0o755)
    assert find_envoy({"CERTWRIGHT_ENVOY": str(binary)}) == binary
    binary.chmod(0o644)
    with pytest.raises(EnvoyMissing, match=r"CERTWRIGHT_ENVOY names .*envoy, which is not"):
        find_envoy({"CERTWRIGHT_ENVOY": str(binary)})


def test_make_installs_one_into_a_folder_of_its_own(tmp_path: Path) -> None:
    binary = tmp_path / "envoy/envoy/_bin/envoy"
    binary.parent.mkdir(parents=True)
    with pytest.raises(EnvoyMissing, match="install it with make envoy, or set CERTWRIGHT_ENVOY"):
        find_envoy({}, str(tmp_path))
    binary.touch(0o755)
    assert find_envoy({}, str(tmp_path)) == binary
