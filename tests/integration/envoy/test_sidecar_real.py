"""A real Envoy with the bootstrap and the arguments of an injected Pod."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.integration.envoy.test_discovery_real import KEY, cluster
from tests.support.envoy.discovery import write_client
from tests.support.envoy.filexds import require_envoy
from tests.support.xds.client import Served

from certwright.kube import JsonObject
from certwright.operators.discoveryservice.injection.annotations import SidecarDefaults
from certwright.operators.discoveryservice.injection.bootstrap import (
    Bootstrap,
    SdsFile,
    bootstrap_files,
)
from certwright.operators.discoveryservice.injection.inject import inject
from certwright.testkit.envoy import envoy
from certwright.testkit.envoy.process import check_bootstrap
from certwright.xds.snapshot import NodeSnapshot, resource
from certwright.xds.typeurls import LISTENER, RUNTIME
from certwright.xds.wire import text_field

pytestmark = [pytest.mark.real, pytest.mark.timeout(120)]


def files_in(tmp_path: Path, served: Served, **settings: Any) -> JsonObject:
    """Write what a Pod mounts; return the main file."""
    tls = tmp_path / "tls"
    tls.mkdir()
    write_client(tls, "one", served.ca.client("shop"), served.ca.pem)
    made = Bootstrap("xds.test", directory=str(tmp_path), certificates=str(tls), **settings)
    files = bootstrap_files(made)
    for name, text in files.items():
        (tmp_path / name).write_text(text, "utf-8")
    found: JsonObject = json.loads(files["config.json"])
    return found


def injected_arguments() -> list[str]:
    """Return the arguments of Envoy in a Pod, with what Kubernetes and the test rig fill in."""
    annotations = {
        "marin3r.3scale.net/node-id": "gateway",
        "marin3r.3scale.net/admin.access-log-path": "/dev/null",
        "marin3r.3scale.net/shutdown-manager.enabled": "true",
    }
    pod: JsonObject = {"metadata": {"annotations": annotations}, "spec": {"containers": []}}
    spec = inject(pod, SidecarDefaults("instance", manager_image="x")).pod["spec"]
    args: list[str] = spec["containers"][0]["args"][2:]
    return [one.replace("$(POD_NAME)", "gateway-0") for one in args]


@pytest.mark.scenario("DS-10")
@pytest.mark.parametrize("sds_file", SdsFile)
def test_envoy_accepts_the_bootstrap(tmp_path: Path, sds_file: SdsFile) -> None:
    require_envoy()
    config = files_in(tmp_path, Served(), sds_file=sds_file)
    assert check_bootstrap(config, files=tmp_path, arguments=injected_arguments()) == ""


@pytest.mark.scenario("DS-8", "DS-10")
@pytest.mark.parametrize("name", ["xds.test", "other.test"])
async def test_envoy_connects_to_the_server_that_it_was_told(tmp_path: Path, name: str) -> None:
    require_envoy()
    served = Served()
    layer = resource(RUNTIME, "runtime", text_field(1, "runtime"))
    published = NodeSnapshot.of([cluster("plain"), layer], {LISTENER: "empty"})
    served.snapshots.put(KEY, published)
    async with served.running():
        config = files_in(tmp_path, served)
        text = json.dumps(config).replace('"xds.test", "port_value": 18000', '"@"')
        assert '"@"' in text
        place = f'"127.0.0.1", "port_value": {served.server.port}'
        text = text.replace('"@"', place).replace("STRICT_DNS", "STATIC")
        changed: JsonObject = json.loads(text.replace('"exact": "xds.test"', f'"exact": "{name}"'))
        async with envoy(changed, tmp_path, arguments=injected_arguments()) as running:
            if name == "xds.test":

                async def in_sync() -> bool:
                    seen = served.server.connections.observe()
                    return bool(seen) and len(seen[-1].types) >= 2 and seen[-1].in_sync

                await running.until(in_sync)
                await running.until(running.admin.is_ready)
            else:

                async def refused() -> bool:
                    stats = await running.admin.stats("fail_verify_san")
                    return any(stats.values())

                await running.until(refused)
                assert served.server.connections.observe() == []
