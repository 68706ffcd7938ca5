"""`certwright bundle publish`: immutable ConfigMaps that operators find by their label."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.component.cli.conftest import Ask
from tests.support.bundles.small import small_bundle

from certwright.bundles.bundle import encode
from certwright.bundles.configmap import LABEL, from_config_map
from certwright.bundles.sources import file_name
from certwright.kube import Key, resource_of
from certwright.kube.kinds import ConfigMap

NAME = f"cert-manager-v9.9.1-{small_bundle().digest[:10]}"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / file_name("v9.9.1")
    path.write_bytes(encode(small_bundle()))
    return path


def test_a_bundle_is_published_once(cli: Callable[..., Any], ask: Ask, path: Path) -> None:
    resource = resource_of(ConfigMap)
    tried = cli("bundle", "publish", path, "--dry-run")
    assert (tried.code, tried.out) == (0, f"ConfigMap default/{NAME} would be created\n")
    assert not ask.names(resource, LABEL)
    done = cli("bundle", "publish", path)
    assert (done.code, done.out) == (0, f"ConfigMap default/{NAME} created\n")
    stored = ask(lambda client: client.get(resource, Key("default", NAME)))
    assert stored["immutable"] is True
    assert from_config_map(stored).unpack() == small_bundle()
    assert ask.names(resource, f"{LABEL}=v9.9.1") == {NAME}
    again = cli("bundle", "publish", path)
    assert (again.code, again.out) == (0, f"ConfigMap default/{NAME} unchanged\n")


def test_another_config_map_of_that_name_is_left_alone(
    cli: Callable[..., Any], ask: Ask, path: Path
) -> None:
    other = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": NAME, "namespace": "default"},
        "data": {"a": "b"},
    }
    ask(lambda client: client.create(other))
    done = cli("bundle", "publish", path)
    assert done.code == 2
    assert done.err == (
        f"error: ConfigMap default/{NAME} exists and holds something else; delete it, and"
        " publish again\n"
    )


def test_a_namespace_that_is_not_there(cli: Callable[..., Any], path: Path) -> None:
    done = cli("bundle", "publish", path, "-n", "gone")
    assert done.code == 2
    assert 'namespaces "gone" not found' in done.err
