"""``certwright up``: a cluster in a terminal, with your controllers running on it."""

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from certwright.cli.errors import UsageError
from certwright.cli.feed import LiveFeed
from certwright.cli.load import load_controllers
from certwright.cli.manifests import custom_kinds
from certwright.cli.samples import read_manifests
from certwright.client import Client, connect
from certwright.kube import ApiError, JsonObject, NotFound, Resource, crd_manifest
from certwright.runtime import Controller, Manager, configure_logs, on_signals
from certwright.testkit.actors import workload_controllers
from certwright.testkit.apiserver import ApiServer
from certwright.testkit.controlplane import control_plane

_ESTABLISHED_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Plan:
    """What the user asked for."""

    targets: Sequence[str]
    kubeconfig: Path | None
    samples: Sequence[Path]
    real: bool = False


def run_up(plan: Plan) -> None:
    """Run until Ctrl-C, then leave nothing behind."""
    configure_logs(level="warning")
    controllers = load_controllers(plan.targets)
    samples = [manifest for path in plan.samples for manifest in read_manifests(path)]
    asyncio.run(_up(plan, controllers, samples))


async def _up(plan: Plan, controllers: list[Controller], samples: list[JsonObject]) -> None:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="certwright-up-")))
        kubeconfig = plan.kubeconfig or folder / "kubeconfig"
        server = await stack.enter_async_context(_server(kubeconfig, real=plan.real))
        client = await stack.enter_async_context(connect(kubeconfig=kubeconfig))
        for kind in custom_kinds(controllers):
            await install(client, crd_manifest(kind))
        everybody = [*controllers, *workload_controllers()]
        manager = Manager(client, everybody)
        watched = {watched.resource for one in everybody for watched in one.watched}
        manager.add(LiveFeed(manager, sorted(watched)))
        with on_signals(manager.stop, manager.dump):
            _greet(server, kubeconfig, controllers, samples)
            async with asyncio.TaskGroup() as group:
                group.create_task(manager.run())
                for sample in samples:
                    await _apply_sample(client, sample)
    if plan.kubeconfig is not None:
        plan.kubeconfig.unlink(missing_ok=True)  # its server is gone
    print("stopped; nothing is left behind")


@asynccontextmanager
async def _server(kubeconfig: Path, *, real: bool) -> AsyncIterator[str]:
    """Run the API server and write its kubeconfig; yield what to call it."""
    if kubeconfig.exists():
        raise UsageError(f"{kubeconfig} exists; name a file that may be created and removed")
    if real:
        async with control_plane() as plane:
            kubeconfig.touch(mode=0o600)
            kubeconfig.write_bytes(plane.kubeconfig.read_bytes())
            yield f"real control plane at {plane.server}"
    else:
        async with ApiServer().serve() as endpoint:
            endpoint.write_kubeconfig(kubeconfig)
            yield f"embedded API server at {endpoint.url}"


async def install(client: Client, crd: JsonObject) -> None:
    """Apply a CustomResourceDefinition and wait until its kinds are served."""
    await client.apply(crd)
    name = crd["metadata"]["name"]
    try:
        async with asyncio.timeout(_ESTABLISHED_SECONDS):
            while not await _is_served(client, crd["spec"]):
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise UsageError(f"{name} is not served; look at kubectl describe crd {name}") from None


async def _is_served(client: Client, spec: JsonObject) -> bool:
    names = spec["names"]
    resource = Resource(
        spec["group"],
        spec["versions"][0]["name"],
        names["kind"],
        names["plural"],
        spec["scope"] == "Namespaced",
    )
    try:
        await client.list(resource)
    except NotFound:
        return False
    return True


async def _apply_sample(client: Client, manifest: JsonObject) -> None:
    """Apply one sample. One the server refuses is the user's to mend: the rest goes on."""
    try:
        await client.apply(manifest, field_manager="certwright-up")
    except ApiError as error:
        name = manifest.get("metadata", {}).get("name", "")
        print(f"sample {manifest.get('kind')} {name} was refused: {error}", file=sys.stderr)


def _greet(
    server: str, kubeconfig: Path, controllers: list[Controller], samples: list[JsonObject]
) -> None:
    names = ", ".join(one.name for one in controllers) or "none given: certwright up my_file.py"
    kinds = [one.resource.plural for one in controllers] or ["namespaces"]
    print(f"{server} · controllers: {names} · samples: {len(samples)} · Ctrl-C ends it")
    print("In another terminal:")
    print(f"  export KUBECONFIG={quote(str(kubeconfig))}")
    print(f"  kubectl get {','.join(dict.fromkeys(kinds))} --all-namespaces")
    print("  kubectl create deployment web --image=nginx && kubectl rollout status deployment web")
