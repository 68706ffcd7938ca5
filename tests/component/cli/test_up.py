"""`certwright up` from the first line to the last."""

import asyncio
import fcntl
import json
import os
import shlex
import signal
import stat
import sys
import termios
from base64 import b64decode
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from enum import IntEnum
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.support.envoy.smallschema import small_descriptors

from certwright.api.certmanager import CertificateRequest
from certwright.api.certmanagerdeployments import CertManagerDeployment
from certwright.api.discoveryservices import DiscoveryService
from certwright.api.envoyconfigs import EnvoyConfig
from certwright.api.managedresources import ManagedResource
from certwright.client import (
    Client,
    ConnectFailed,
    HttpTransport,
    Request,
    User,
    connect,
    load_config,
)
from certwright.client.config.config import Impersonation
from certwright.issuers.ca import app as ca
from certwright.kube import ApiError, Forbidden, JsonObject, Key, NotFound, Resource
from certwright.kube.kinds import ConfigMap, Deployment, Secret, ServiceAccount
from certwright.managed import wait_until_healthy
from certwright.testkit.controlplane.component import free_ports

CMD = CertManagerDeployment.resource
MANAGED = ManagedResource.resource
SECONDS = 30
UP = ("up", "--no-cert-manager", "--no-discovery-service")
"""Starts faster, and most tests need neither."""
CA_ISSUER = ca.kinds[0].resource
GREETING = Resource("demo.certwright.dev", "v1", "Greeting", "greetings", namespaced=True)


def left_behind(tmp_path: Path) -> list[Any]:
    return [str(path) for path in (tmp_path / "temporary").iterdir()]


async def test_the_whole_visit(
    start: Callable[..., Awaitable[Any]],
    examples: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bin_folder = Path(sys.executable).parent
    folders = os.environ["PATH"].split(os.pathsep)
    elsewhere = [folder for folder in folders if Path(folder) != bin_folder]
    monkeypatch.setenv("PATH", os.pathsep.join(elsewhere))
    kubeconfig = tmp_path / "kubeconfig"
    up = await start(*UP, examples / "greeting.py", "--kubeconfig", "kubeconfig")
    await up.line("kubectl create deployment web")
    greeting = list(up.lines)
    assert len(greeting) == 6
    assert greeting[0].startswith("embedded API server at https://127.0.0.1:")
    assert "controllers: greeting · samples: 1 · press Ctrl-C to end" in greeting[0]
    assert greeting[2] == f"  export KUBECONFIG={kubeconfig}"
    assert greeting[3] == f"  export PATH={bin_folder}:$PATH"
    assert "get greetings --all-namespaces" in greeting[4]
    assert stat.S_IMODE(kubeconfig.stat().st_mode) == 0o600

    await up.line("+ created   Greeting default/hello")
    await up.line("+ created   ConfigMap default/hello-2")
    await up.line("~ changed   Greeting default/hello  status.kept: 3")
    async with connect(kubeconfig=kubeconfig) as client:
        await client.patch(GREETING, Key("default", "hello"), {"spec": {"count": 1}})
        await up.line("~ changed   Greeting default/hello  spec.count: 1")
        await up.line("- deleted   ConfigMap default/hello-2")
        await up.line("~ changed   Greeting default/hello  status.kept: 1")

        assert await up.end(signal.SIGINT) == 0
        assert up.lines[-1] == "stopped; everything is removed"
        assert "kube-root-ca.crt" not in up.text
        assert not kubeconfig.exists()
        assert left_behind(tmp_path) == []
        with pytest.raises(ConnectFailed):
            await client.get(ConfigMap, Key("default", "hello-0"))


async def test_without_controllers_there_is_a_cluster_to_play_with(
    start: Callable[..., Awaitable[Any]], tmp_path: Path
) -> None:
    up = await start(*UP)
    line = await up.line("export KUBECONFIG=")
    await up.line("create deployment web")
    assert "controllers: none (certwright up my_file.py)" in up.lines[0]
    async with connect(kubeconfig=line.partition("=")[2]) as client:
        labels = {"app": "web"}
        pod = {
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "c", "image": "c"}]},
        }
        spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": pod}
        web = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec}
        await client.apply({**web, "metadata": {"name": "web", "namespace": "default"}})
        await up.line("~ changed   Deployment default/web  Available: True")
        found = await client.get(Deployment, Key("default", "web"))
    assert found["status"]["readyReplicas"] == 2
    assert await up.end(signal.SIGTERM) == 0
    assert left_behind(tmp_path) == []


async def test_no_samples_if_asked_for(
    start: Callable[..., Awaitable[Any]], examples: Path, tmp_path: Path
) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    words = ("--no-samples", "--kubeconfig", kubeconfig)
    up = await start(*UP, examples / "greeting.py", *words)
    await up.line("create deployment web")
    assert "samples: 0" in up.lines[0]
    async with connect(kubeconfig=kubeconfig) as client:
        assert (await client.list(GREETING)).items == []
    await up.end(signal.SIGINT)
    assert "Greeting" not in up.text


async def test_a_sample_that_is_refused_stops_no_other(
    start: Callable[..., Awaitable[Any]], examples: Path, tmp_path: Path
) -> None:
    (tmp_path / "samples.yaml").write_text(
        "{apiVersion: demo.certwright.dev/v1, kind: Greeting, metadata: {name: many}, spec: {count: 1000}}\n"
        "---\n{apiVersion: nowhere.example/v1, kind: Nothing, metadata: {name: odd}}\n"
        "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: lost, namespace: nowhere}}\n"
        "---\n{apiVersion: demo.certwright.dev/v1, kind: Greeting, metadata: {name: fine}}\n",
        "utf-8",
    )
    up = await start(*UP, examples / "greeting.py", "--samples", "samples.yaml")
    await up.line("~ changed   Greeting default/fine  status.kept: 1")
    await up.end(signal.SIGINT)
    assert "sample Greeting many was refused: " in up.text
    assert "spec.count" in up.text
    assert "sample Nothing odd was refused: the server has no kind Nothing" in up.text
    assert 'sample ConfigMap lost was refused: namespaces "nowhere" not found' in up.text
    assert "created   Greeting default/many" not in up.text


async def test_a_file_that_exists_is_left_alone(
    start: Callable[..., Awaitable[Any]], tmp_path: Path
) -> None:
    precious = tmp_path / "precious"
    precious.write_text("my own", "utf-8")
    up = await start(*UP, "--kubeconfig", "precious")
    assert await up.end() == 2
    assert up.lines == [
        "error: --kubeconfig: precious exists; name a new file, because it is deleted at the end"
    ]
    assert precious.read_text("utf-8") == "my own"
    assert left_behind(tmp_path) == []


async def test_a_folder_that_does_not_exist_is_named(start: Callable[..., Awaitable[Any]]) -> None:
    up = await start(*UP, "--kubeconfig", "nowhere/kubeconfig")
    assert await up.end() == 2
    assert up.lines == [
        "error: --kubeconfig: cannot write nowhere/kubeconfig: No such file or directory"
    ]


async def test_a_controller_that_crashes_is_visible_and_the_visit_goes_on(
    start: Callable[..., Awaitable[Any]], tmp_path: Path
) -> None:
    (tmp_path / "crashing.py").write_text(
        "from certwright.kube.kinds import ConfigMap\n"
        "from certwright.runtime import Controller\n"
        "async def reconcile(ctx, key):\n"
        "    raise RuntimeError('out of ideas')\n"
        "controller = Controller(ConfigMap, reconcile, name='crashing')\n",
        "utf-8",
    )
    (tmp_path / "crashing.yaml").write_text(
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n", "utf-8"
    )
    up = await start(*UP, "crashing.py")
    await up.line("! event     ConfigMap default/a  ")
    assert "out of ideas" in up.text
    assert await up.end(signal.SIGINT) == 0


@pytest.mark.parametrize(
    ("ending", "codes"), [(signal.SIGINT, {0, 130}), (signal.SIGTERM, {0, 143})]
)
async def test_an_interrupted_start_leaves_nothing_behind(
    start: Callable[..., Awaitable[Any]], tmp_path: Path, ending: IntEnum, codes: set[int]
) -> None:
    up = await start(*UP, "--kubeconfig", "kubeconfig")
    async with asyncio.timeout(30):
        while not (tmp_path / "kubeconfig").exists():
            await asyncio.sleep(0.001)
    assert await up.end(ending) in codes
    assert "Traceback" not in up.text
    assert not (tmp_path / "kubeconfig").exists()
    assert left_behind(tmp_path) == []


async def test_the_sample_managed_resource_and_what_to_try_with_it(
    start: Callable[..., Awaitable[Any]], tmp_path: Path
) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    up = await start(*UP, "--kubeconfig", "kubeconfig")
    suggested = [
        await up.line(part) for part in ("mr explain", "color", "delete", "suspend", "mr diff")
    ]
    assert all(line.startswith("  ") for line in suggested)
    await up.line("+ created   ConfigMap default/sample-settings")
    async with connect(kubeconfig=kubeconfig) as client:
        await wait_until_healthy(client, Key("default", "sample"), rolled_out=True)
        settings = Key("default", "sample-settings")
        await client.patch(ConfigMap, settings, {"data": {"color": "red"}})
        await up.line("data.color: red")
        await up.line("data.color: blue")
        await client.delete(Deployment, Key("default", "sample-web"))
        await up.line("- deleted   Deployment default/sample-web")
        await up.line("+ created   Deployment default/sample-web")
        await client.patch(MANAGED, Key("default", "sample"), {"spec": {"suspend": True}})
        await up.line("spec.suspend: true")
        await client.patch(ConfigMap, settings, {"data": {"color": "green"}})
    words = ("sample", "-n", "default", "--kubeconfig", "kubeconfig")
    diff = await start("mr", "diff", *words)
    assert await diff.end() == 1
    assert "ConfigMap default/sample-settings would be configured" in diff.text
    assert "green" in diff.text
    explain = await start("mr", "explain", *words)
    assert await explain.end() == 0
    assert "it is suspended: nothing is written" in explain.text
    assert await up.end(signal.SIGINT) == 0
    assert "Traceback" not in up.text


async def test_without_managed_resources_if_asked_for(
    start: Callable[..., Awaitable[Any]], tmp_path: Path
) -> None:
    up = await start(*UP, "--no-managed-resources", "--kubeconfig", "kubeconfig")
    await up.line("create deployment web")
    async with connect(kubeconfig=tmp_path / "kubeconfig") as client:
        with pytest.raises(NotFound):
            await client.list(MANAGED)
    assert await up.end(signal.SIGINT) == 0
    assert "mr explain" not in up.text


@pytest.mark.real
async def test_the_same_on_the_real_control_plane(
    start: Callable[..., Awaitable[Any]], examples: Path, tmp_path: Path
) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    words = ("--real", "--kubeconfig", kubeconfig)
    up = await start("up", examples / "greeting.py", *words)
    await up.line("real control plane at https://127.0.0.1:")
    await up.line("~ changed   Greeting default/hello  status.kept: 3")
    assert stat.S_IMODE(kubeconfig.stat().st_mode) == 0o600
    async with connect(kubeconfig=kubeconfig) as client, asyncio.timeout(30):
        assert await output_of_a_pod(client) == b"hello\n"
        await up.line("+ created   Secret default/sample-cert-tls")
        issued = await client.get(Secret, Key("default", "sample-cert-tls"))
        assert b"BEGIN CERTIFICATE" in b64decode(issued["data"]["tls.crt"])
    assert await up.end(signal.SIGINT) == 0
    assert not kubeconfig.exists()
    assert left_behind(tmp_path) == []


async def test_the_sample_installation_and_what_to_try_with_it(
    start: Callable[..., Awaitable[Any]], tmp_path: Path
) -> None:
    others = ("--no-managed-resources", "--no-issuers", "--no-discovery-service")
    up = await start("up", *others, "--kubeconfig", "kubeconfig")
    parts = ("explain", "check", "certificates", "clusterrole", "patch", "plan")
    suggested = [await up.line(part) for part in parts]
    assert all(line.startswith("  ") for line in suggested)
    await up.line("~ changed   CertManagerDeployment cluster  Available: True (AsExpected)")
    await up.line("+ created   Secret default/sample-cert-tls")
    check = await start("cert-manager", "check", "--kubeconfig", "kubeconfig")
    assert await check.end() == 0, check.text
    version = suggested[4].partition('"version":"')[2].partition('"')[0]
    async with connect(kubeconfig=tmp_path / "kubeconfig") as client, asyncio.timeout(SECONDS):
        await client.patch(CMD, Key("", "cluster"), {"spec": {"version": version}})
        while True:
            status = (await client.get(CMD, Key("", "cluster")))["status"]
            if status["installedVersion"] == version:
                break
            await asyncio.sleep(0.1)
    plan = await start("cert-manager", "plan", "--kubeconfig", "kubeconfig")
    assert await plan.end() == 0, plan.text
    assert plan.lines[0] == f"cert-manager {version} stays"
    assert await up.end(signal.SIGINT) == 0
    assert "Traceback" not in up.text


LABELLED: JsonObject = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "web",
        "namespace": "default",
        "labels": {"marin3r.3scale.net/status": "enabled"},
        "annotations": {"marin3r.3scale.net/node-id": "web"},
    },
    "spec": {"containers": [{"name": "web", "image": "nginx"}]},
}
"""As the command that is printed creates it."""


async def test_the_sample_discovery_service_and_what_to_try_with_it(
    start: Callable[..., Awaitable[Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = tmp_path / "envoy.binpb"
    schema.write_bytes(small_descriptors().SerializeToString())
    monkeypatch.setenv("CERTWRIGHT_XDS_SCHEMA", str(schema))
    others = ("--no-managed-resources", "--no-issuers", "--no-cert-manager")
    up = await start("up", *others, "--kubeconfig", "kubeconfig")
    parts = ("run web", "jsonpath", "ds status", "ds rotate-ca", "patch envoyconfig", "xds status")
    suggested = [await up.line(part) for part in parts]
    assert all(line.startswith("  ") for line in suggested)
    await up.line("DiscoveryService sample  Ready: True")
    async with connect(kubeconfig=tmp_path / "kubeconfig") as client, asyncio.timeout(SECONDS):
        pod = await client.create(LABELLED)
        names = [one["name"] for one in pod["spec"]["containers"]]
        assert names == ["web", "envoy-sidecar"]
        rotate = await start("ds", "rotate-ca", "sample", "--kubeconfig", "kubeconfig")
        assert await rotate.end() == 0, rotate.text
        key = Key("", "sample")
        while await phase_of(client, key) == "Stable":
            await asyncio.sleep(0.1)
        config = Key("default", "web")
        while (await client.get(EnvoyConfig, config)).status.cache_state != "InSync":
            await asyncio.sleep(0.1)
        broken = shlex.split(suggested[4], comments=True)
        patch = orjson.loads(broken[broken.index("-p") + 1])
        await client.patch(EnvoyConfig, config, patch)
        while (await client.get(EnvoyConfig, config)).status.cache_state != "Rollback":
            await asyncio.sleep(0.1)
    shown = await start("xds", "status", "--kubeconfig", "kubeconfig")
    assert await shown.end() == 1
    assert "connect_timeout" in shown.text
    assert await up.end(signal.SIGINT) == 0
    assert "Traceback" not in up.text


async def phase_of(client: Client, service: Key) -> str:
    """Return how far the rotation of an authority is."""
    found = await client.get(DiscoveryService.resource, service)
    return str(found["status"]["rotation"]["phase"])


async def output_of_a_pod(client: Client) -> bytes:
    """Create a pod that says hello, and return what the API server shows of its log."""
    container = {
        "name": "main",
        "image": "busybox",
        "command": ["sh", "-c", "echo hello; sleep 99"],
    }
    metadata = {"name": "talker", "namespace": "default"}
    await client.create(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata,
            "spec": {"containers": [container]},
        }
    )
    asked = Request("get", "GET", "/api/v1/namespaces/default/pods/talker/log")
    while True:
        with suppress(ApiError):  # its container has not started
            if found := (await client.send(asked)).body:
                return found
        await asyncio.sleep(0.1)


async def test_the_sample_issuer_and_what_to_try_with_it(
    start: Callable[..., Awaitable[Any]], tmp_path: Path
) -> None:
    up = await start(*UP, "--no-managed-resources", "--kubeconfig", "kubeconfig")
    suggested = [await up.line(part) for part in ("get caissuers", "cert inspect", "delete secret")]
    assert all(line.startswith("  ") for line in suggested)
    await up.line("event     CertificateRequest default/sample  Issued")
    inspect = await start("cert", "inspect", "cr/sample", "--kubeconfig", "kubeconfig")
    assert await inspect.end() == 0
    assert "CN=Sample CA" in inspect.text
    assert "dns names      sample.default.svc" in inspect.text
    assert inspect.lines[-1] == "no findings"
    async with connect(kubeconfig=tmp_path / "kubeconfig") as client:
        await client.delete(Secret, Key("default", "sample-ca"))
    await up.line("~ changed   CAIssuer default/sample  Ready: False (Pending)")
    assert "sample-ca" in await up.line("CAIssuer default/sample  RetryableError: Not ready yet")
    assert await up.end(signal.SIGINT) == 0
    assert "Traceback" not in up.text


async def test_roles_are_enforced_and_operators_have_accounts_of_their_own(
    start: Callable[..., Awaitable[Any]], tmp_path: Path
) -> None:
    up = await start(*UP, "--kubeconfig", "kubeconfig", "--no-samples")
    await up.line("create deployment web")
    config = load_config(tmp_path / "kubeconfig")
    jane = replace(config, impersonate=Impersonation(user="jane"))
    stranger = replace(config, user=User())
    for other, name in ((jane, "jane"), (stranger, "system:anonymous")):
        async with Client(HttpTransport(other)) as client:
            with pytest.raises(Forbidden, match=f'User "{name}" cannot list resource "secrets"'):
                await client.list(Secret)
    async with Client(HttpTransport(config)) as admin:

        async def may(account: str, verb: str, resource: str, group: str = "") -> bool:
            user = f"system:serviceaccount:certwright:{account}"
            asked = {"verb": verb, "resource": resource, "group": group}
            spec = {"user": user, "resourceAttributes": asked}
            head = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview"}
            return bool((await admin.create({**head, "spec": spec}))["status"]["allowed"])

        assert await may("resource-manager", "list", "managedresources", MANAGED.group)
        assert await may("resource-manager", "impersonate", "serviceaccounts")
        assert not await may("resource-manager", "create", "deployments", "apps")
        assert not await may("resource-manager", "impersonate", "users")
        assert await may("ca-issuer", "watch", "certificaterequests", "cert-manager.io")
        assert not await may("ca-issuer", "create", "certificaterequests", "cert-manager.io")
        assert not await may("ca-issuer", "create", "secrets")
        assert await may("simulator", "watch", "deployments", "apps")
        assert not await may("simulator", "get", "secrets")
        assert not await may("approver", "get", "secrets")
        with pytest.raises(NotFound):
            await admin.get(ServiceAccount, Key("certwright", "controllers"))
    assert await up.end(signal.SIGINT) == 0


async def test_a_controller_may_do_what_it_declares(
    start: Callable[..., Awaitable[Any]], tmp_path: Path
) -> None:
    (tmp_path / "curious.py").write_text(
        "from certwright.kube.kinds import ConfigMap, Secret\n"
        "from certwright.runtime import DONE, Controller\n"
        "async def reconcile(ctx, key):\n"
        "    await ctx.client.list(Secret)\n"
        "    return DONE\n"
        "controller = Controller(ConfigMap, reconcile, name='curious')\n",
        "utf-8",
    )
    (tmp_path / "curious.yaml").write_text(
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n", "utf-8"
    )
    up = await start(*UP, "curious.py", "--no-managed-resources", "--no-issuers")
    line = await up.line("reconcile failed  controller=curious key=default/a")
    assert "secrets is forbidden" in line
    assert "system:serviceaccount:certwright:controllers" in line
    assert await up.end(signal.SIGINT) == 0


async def test_without_issuers_if_asked_for(
    start: Callable[..., Awaitable[Any]], tmp_path: Path
) -> None:
    up = await start(*UP, "--no-issuers", "--kubeconfig", "kubeconfig")
    await up.line("mr diff")
    async with connect(kubeconfig=tmp_path / "kubeconfig") as client:
        assert not (await client.list(CertificateRequest)).items, "served for other issuers"
        with pytest.raises(NotFound):
            await client.list(CA_ISSUER)
    assert await up.end(signal.SIGINT) == 0
    assert "certificate authority" not in up.text


async def test_approval_is_left_to_people_if_asked_for(
    start: Callable[..., Awaitable[Any]], tmp_path: Path
) -> None:
    up = await start(*UP, "--no-approve", "--no-managed-resources", "--kubeconfig", "kubeconfig")
    await up.line("A CertificateRequest waits for you. Try:")
    command = shlex.split(await up.line("--subresource=status"), comments=True)
    await up.line("~ changed   CAIssuer default/sample  Ready: True (Checked)")
    sample = Key("default", "sample")
    async with connect(kubeconfig=tmp_path / "kubeconfig") as client:
        waiting = await client.get(CertificateRequest, sample)
        assert not waiting.status.conditions
        patch = json.loads(command[command.index("-p") + 1])
        await client.patch(CertificateRequest.resource, sample, patch, subresource="status")
        await up.line("event     CertificateRequest default/sample  Issued")
    assert await up.end(signal.SIGINT) == 0


async def test_whoever_reads_no_further_sees_no_traceback(tmp_path: Path) -> None:
    words = [sys.executable, "-c", "from certwright.cli.main import main; main()", *UP]
    process = await asyncio.create_subprocess_shell(
        f"{shlex.join(words)} | head -1",
        cwd=tmp_path,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert out.startswith(b"embedded API server at ")
    assert b"Traceback" not in err


def web_deployment(replicas: int) -> dict[str, Any]:
    labels = {"app": "web"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "c"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": pod}
    metadata = {"name": "web", "namespace": "default"}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


async def test_objects_port_and_kubeconfig_survive_a_restart(
    start: Callable[..., Awaitable[Any]], tmp_path: Path
) -> None:
    words = (*UP, "--state", "kept", "--no-managed-resources", "--no-issuers")
    [port] = free_ports(1)  # the usual one may be that of another test in a moment
    up = await start(*words, "--port", port)
    line = await up.line("export KUBECONFIG=")
    kubeconfig = tmp_path / "kept" / "kubeconfig"
    assert line.endswith(str(kubeconfig))
    address = f"embedded API server at https://127.0.0.1:{port}"
    assert up.lines[0].split(" · ")[0] == address
    other = await start(*words)
    assert await other.end() == 2
    assert other.lines == ["error: --state: kept is in use by another certwright up"]
    async with connect(kubeconfig=kubeconfig) as client:
        await client.apply(web_deployment(2))
        await up.line("~ changed   Deployment default/web  Available: True")
    assert await up.end(signal.SIGINT) == 0
    assert up.lines[-1] == "stopped; objects are kept in kept"
    assert stat.S_IMODE((tmp_path / "kept" / "state.json").stat().st_mode) == 0o600

    again = await start(*words)
    await again.line("create deployment web")
    assert again.lines[0].split(" · ")[0] == address
    async with connect(kubeconfig=kubeconfig) as client:
        found = await client.get(Deployment, Key("default", "web"))
        assert found["status"]["readyReplicas"] == 2
        await client.patch(Deployment, Key("default", "web"), {"spec": {"replicas": 3}})
        await again.line("+ created   Pod default/web-")
    assert await again.end(signal.SIGINT) == 0
    assert "Traceback" not in up.text + again.text


async def test_a_state_that_cannot_be_read_is_named(
    start: Callable[..., Awaitable[Any]], tmp_path: Path
) -> None:
    folder = tmp_path / "kept"
    folder.mkdir()
    (folder / "state.json").write_text("{", "utf-8")
    up = await start(*UP, "--state", "kept")
    assert await up.end() == 2
    assert up.lines[0].startswith("error: --state: kept/state.json cannot be read: ")
    assert up.lines[0].endswith("remove it to start anew")
    assert (folder / "state.json").read_text("utf-8") == "{"
    both = await start(*UP, "--state", "kept", "--real")
    assert await both.end() == 2


def at_a_terminal() -> None:
    """Make standard input the terminal of a new session."""
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


async def test_enter_shows_the_hints_again(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "from certwright.cli.main import main; main()",
        *UP, "--no-issuers", cwd=tmp_path, stdin=theirs, stdout=theirs, stderr=theirs,
        preexec_fn=at_a_terminal,
    )  # fmt: skip
    os.close(theirs)
    text = ""

    async def until(hints: int) -> None:
        nonlocal text
        async with asyncio.timeout(SECONDS):
            while text.count("Press Enter to see this again.") < hints:
                text += (await asyncio.to_thread(os.read, ours, 65536)).decode()

    try:
        await until(1)
        os.write(ours, b"\n")
        await until(2)
        assert text.count("export KUBECONFIG=") == 2
        os.write(ours, b"\x03")  # Ctrl-C
        async with asyncio.timeout(SECONDS):
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        os.close(ours)
