"""``certwright up``: a cluster in a terminal, with your controllers running on it."""

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from certwright.apiserver import ApiServer
from certwright.cli.apply.inputs import read_manifests
from certwright.cli.errors import UsageError
from certwright.cli.load import load_controllers
from certwright.cli.loops import run_to_end
from certwright.cli.manifests import custom_kinds
from certwright.cli.up.company import Company, issuers, managed_resources
from certwright.cli.up.feed import LiveFeed
from certwright.cli.up.samples import apply_samples
from certwright.client import Client, connect, until_served
from certwright.kube import ApiError, JsonObject, Resource, crd_manifest, resource_of
from certwright.kube.kinds import ConfigMap, Namespace, Pod, Secret, Service
from certwright.runtime import Declared, Manager, Operator, configure_logs, on_signals
from certwright.testkit.actors import workload_controllers
from certwright.testkit.controlplane import AssetsMissing, control_plane, find_assets

_GREET_SECONDS = 5.0
_INTERESTING = (Namespace, ConfigMap, Secret, Service, Pod)
"""Shown live besides what controllers watch: what people try first."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What the user asked for."""

    targets: Sequence[str]
    kubeconfig: Path | None
    samples: Sequence[Path]
    real: bool = False
    managed: bool = True
    """Whether ManagedResources are kept, too."""
    issuers: bool = True
    """Whether an issuer signs CertificateRequests, too."""
    with_samples: bool = True
    """Whether these two have samples."""

    def company(self) -> list[Company]:
        """Return who works along."""
        return [
            *([managed_resources()] if self.managed else []),
            *([issuers()] if self.issuers else []),
        ]


def run_up(plan: Plan) -> None:
    """Run until Ctrl-C, then leave nothing behind."""
    controllers = load_controllers(plan.targets, issuers=True)
    samples = [manifest.obj for manifest in read_manifests(plan.samples)] if plan.samples else []
    configure_logs(level="warning", as_json=False)  # people look at this
    run_to_end(_up(plan, controllers, samples))
    print("stopped; nothing is left behind")


async def _up(plan: Plan, controllers: list[Declared], samples: list[JsonObject]) -> None:
    async with AsyncExitStack() as stack:
        kubeconfig = stack.enter_context(_new_file(plan.kubeconfig))
        server = await stack.enter_async_context(_server(kubeconfig, real=plan.real))
        client = await stack.enter_async_context(connect(kubeconfig=kubeconfig))
        company = plan.company()
        kinds = [*custom_kinds(controllers), *(kind for one in company for kind in one.kinds)]
        for kind in dict.fromkeys(kinds):
            await install(client, crd_manifest(kind))
        everybody = [*controllers, *workload_controllers()]
        manager = Manager(client, everybody)
        for member in [member for one in company for member in one.members]:
            manager.add(member)
        watched = [resource for one in everybody for resource in _watched(one)]
        feed = LiveFeed(manager, (*watched, *map(resource_of, kinds), *_INTERESTING))
        manager.add(feed)
        with on_signals(manager.stop, manager.dump):
            async with asyncio.TaskGroup() as group:
                running = group.create_task(manager.run())
                shown = company if plan.with_samples else []
                extra = [manifest for one in shown for manifest in one.sample()]

                def greet() -> None:
                    _greet(server, kubeconfig, controllers, samples)
                    for one in shown:
                        _suggest(one)

                starting = group.create_task(_start(client, feed, [*samples, *extra], greet))
                await running
                starting.cancel()


async def _start(
    client: Client, feed: LiveFeed, samples: list[JsonObject], greet: Callable[[], None]
) -> None:
    """Say hello as soon as everything is shown that people do; or soon, if that takes its time."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_GREET_SECONDS):
            await feed.ready.wait()
    greet()
    await feed.ready.wait()
    await apply_samples(client, samples)


@contextmanager
def _new_file(wanted: Path | None) -> Iterator[Path]:
    """Make the file for the kubeconfig, for its owner's eyes only; remove it at the end."""
    with tempfile.TemporaryDirectory(prefix="certwright-up-") as folder:
        path = wanted or Path(folder) / "kubeconfig"
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            raise UsageError(
                f"--kubeconfig: {path} exists and is left alone; name a new file, it is removed"
                " at the end"
            ) from None
        except OSError as error:
            raise UsageError(f"--kubeconfig: cannot write {path}: {error.strerror}") from error
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)  # its server is gone


@asynccontextmanager
async def _server(kubeconfig: Path, *, real: bool) -> AsyncIterator[str]:
    """Run the API server and write its kubeconfig; yield what to call it."""
    if real:
        print("starting etcd, kube-apiserver and kube-controller-manager ...", flush=True)
        async with control_plane() as plane:
            kubeconfig.write_bytes(plane.kubeconfig.read_bytes())
            yield f"real control plane at {plane.server}"
    else:
        async with ApiServer(namespace_defaults=True).serve() as endpoint:
            endpoint.write_kubeconfig(kubeconfig)
            yield f"embedded API server at {endpoint.url}"


async def install(client: Client, crd: JsonObject) -> None:
    """Apply a CustomResourceDefinition and wait until its kinds are served."""
    name = crd["metadata"]["name"]
    try:
        await client.apply(crd)
        await until_served(client, crd)
    except ApiError as error:
        raise UsageError(f"the definition of {name} was refused: {error}") from error
    except TimeoutError:
        raise UsageError(f"{name} is not served; look at kubectl describe crd {name}") from None


def _greet(
    server: str, kubeconfig: Path, controllers: list[Declared], samples: list[JsonObject]
) -> None:
    names = ", ".join(one.name for one in controllers) or "none (certwright up my_file.py)"
    kinds = [_watched(one)[0].plural for one in controllers if _watched(one)] or ["all"]
    kubectl = _kubectl()
    print(f"{server} · controllers: {names} · samples: {len(samples)} · Ctrl-C ends it")
    print("In another terminal:")
    print(f"  export KUBECONFIG={quote(str(kubeconfig.resolve()))}")
    if folder := unreachable_folder():
        print(f"  export PATH={quote(folder)}:$PATH")
    print(f"  {kubectl} get {','.join(dict.fromkeys(kinds))} --all-namespaces")
    print(f"  {kubectl} create deployment web --image=nginx --replicas=2", flush=True)


def _watched(declared: Declared) -> list[Resource]:
    """Return the kinds to show of a controller, its own first; of an operator those it brings."""
    if isinstance(declared, Operator):
        return [resource_of(kind) for kind in declared.kinds]
    return [watched.resource for watched in declared.watched]


def _suggest(company: Company) -> None:
    print(company.introduction)
    for line in company.suggestions(_kubectl()):
        print(f"  {line}")
    sys.stdout.flush()


def unreachable_folder() -> str:
    """Return the folder of the certwright command if it is not found by its name; else nothing."""
    command = Path(sys.executable).parent / "certwright"
    found = shutil.which("certwright")
    there = found is not None and Path(found).resolve() == command.resolve()
    return "" if there or not command.exists() else str(command.parent)


def _kubectl() -> str:
    """Return what to type for kubectl: the one in PATH, else the one we built."""
    if shutil.which("kubectl"):
        return "kubectl"
    try:
        assets = find_assets()
    except AssetsMissing:
        assets = None
    if assets is None:
        print("There is no kubectl on this machine; install one to look around.", file=sys.stderr)
        return "kubectl"
    return quote(str(assets.kubectl))
