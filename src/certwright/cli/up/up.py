"""``certwright up``: a cluster in a terminal, with your controllers running on it."""

import asyncio
import os
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import (
    AbstractContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
    suppress,
)
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from certwright.api.certmanager import CertificateRequest
from certwright.apiserver import ApiServer, Endpoint
from certwright.apiserver.webhooks.httpscaller import HttpsReviewCaller
from certwright.cli.apply.inputs import read_manifests
from certwright.cli.controllers import custom_kinds, load_controllers
from certwright.cli.errors import UsageError
from certwright.cli.loops import run_to_end
from certwright.cli.up.accounts import OperatorAccount, sign_in
from certwright.cli.up.certmanager import (
    SampleWebhooks,
    cert_manager_demo,
    played_cert_manager,
    real_bundles,
    real_images,
    sample_bundles,
)
from certwright.cli.up.demos import Demo, issuer_demo, managed_resource_demo
from certwright.cli.up.discoveryservice import SPACE as DISCOVERY_SPACE
from certwright.cli.up.discoveryservice import (
    SampleSidecars,
    discovery_service_demo,
    sample_schema,
)
from certwright.cli.up.feed import LiveFeed
from certwright.cli.up.hints import is_interactive, on_enter
from certwright.cli.up.samples import apply_samples
from certwright.cli.up.state import SavedState, StateFolder, passing_folder, state_folder
from certwright.client import Client, connect, load_config, until_served
from certwright.clock import SYSTEM
from certwright.kube import ApiError, JsonObject, Object, Resource, crd_manifest, resource_of
from certwright.kube.kinds import (
    ConfigMap,
    DaemonSet,
    Deployment,
    Job,
    Namespace,
    Pod,
    ReplicaSet,
    Secret,
    Service,
    StatefulSet,
)
from certwright.runtime import (
    Declared,
    Manager,
    MemoryTrimmer,
    Operator,
    configure_logs,
    on_signals,
)
from certwright.testkit.actors import workload_controllers
from certwright.testkit.actors.claims import claim_controller
from certwright.testkit.controlplane import AssetsMissing, find_assets
from certwright.testkit.node import STUB, control_plane_with_node

_GREET_SECONDS = 5.0
_USUAL_PORT = 16443
_WORKLOADS = (Deployment, ReplicaSet, StatefulSet, DaemonSet, Job)
_INTERESTING = (Namespace, ConfigMap, Secret, Service, Pod, *_WORKLOADS)
"""Shown in the feed besides what controllers watch: the kinds that people try first."""


@dataclass(frozen=True, slots=True)
class UpOptions:
    """What the command line asks for."""

    targets: Sequence[str]
    kubeconfig: Path | None
    samples: Sequence[Path]
    real: bool = False
    managed: bool = True
    """Whether the ManagedResource operator runs, too."""
    issuers: bool = True
    """Whether an issuer runs, too."""
    approve: bool = True
    """Whether CertificateRequests are approved, if an issuer runs."""
    cert_manager: bool = True
    """Whether cert-manager is installed, too."""
    discovery_service: bool = True
    """Whether a control plane for Envoy sidecars runs, too; on the embedded server only."""
    with_samples: bool = True
    """Whether the samples of these are applied."""
    state: Path | None = None
    """Where objects are kept from one start to the next."""
    port: int = 0

    def demos(self) -> list[Demo]:
        """Return the operators that run along, with their samples."""
        return [
            *([managed_resource_demo()] if self.managed else []),
            *([issuer_demo(approve=self.approve)] if self.issuers else []),
            *([self._cert_manager_demo()] if self.cert_manager else []),
            *([discovery_service_demo(sample_schema())] if self._has_discovery else []),
        ]

    @property
    def _has_discovery(self) -> bool:
        return self.discovery_service and not self.real

    def _cert_manager_demo(self) -> Demo:
        return cert_manager_demo(real_bundles() if self.real else sample_bundles())


def run_up(options: UpOptions) -> None:
    """Run until Ctrl-C, then leave nothing behind."""
    controllers = load_controllers(options.targets, issuers=True)
    samples = (
        [manifest.obj for manifest in read_manifests(options.samples)] if options.samples else []
    )
    configure_logs(level="warning", as_json=False)  # a person reads this
    run_to_end(_up(options, controllers, samples))
    kept = f"objects are kept in {options.state}" if options.state else "everything is removed"
    print(f"stopped; {kept}")


async def _up(options: UpOptions, controllers: list[Declared], samples: list[JsonObject]) -> None:
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(_folder(options))
        kubeconfig = stack.enter_context(_new_file(options.kubeconfig, folder))
        demos = options.demos()
        served = (
            _real_server(kubeconfig, options)
            if options.real
            else _server(kubeconfig, folder, options)
        )
        server, is_new = await stack.enter_async_context(served)
        client = await stack.enter_async_context(connect(kubeconfig=kubeconfig))
        # Requests for certificates are served in any case: other issuers may run beside this.
        ours = [kind for demo in demos for kind in demo.kinds]
        kinds: list[type[Object]] = [*custom_kinds(controllers), CertificateRequest, *ours]
        for kind in dict.fromkeys(kinds):
            await install(client, crd_manifest(kind))
        for manifest in [manifest for demo in demos for manifest in demo.grants]:
            await client.apply(manifest)
        workloads = () if options.real else workload_controllers()
        simulated = [*workloads, claim_controller()]
        accounts = [
            *([OperatorAccount("controllers", controllers)] if controllers else []),
            OperatorAccount("simulator", simulated),
            *(account for demo in demos for account in demo.accounts),
        ]
        managers = await _managers(stack, client, kubeconfig, accounts)
        looking_on = Manager(client)
        watched = [resource for one in controllers for resource in _watched(one)]
        feed = LiveFeed(looking_on, (*watched, *map(resource_of, kinds), *_INTERESTING))
        looking_on.add(feed)
        looking_on.add(MemoryTrimmer(looking_on))
        managers["feed"] = looking_on

        def stop() -> None:
            for manager in managers.values():
                manager.stop()

        def dump() -> JsonObject:
            return {name: manager.dump() for name, manager in managers.items()}

        with on_signals(stop, dump):
            async with asyncio.TaskGroup() as group:
                running = [group.create_task(manager.run()) for manager in managers.values()]
                shown = demos if options.with_samples else []
                extra = [manifest for demo in shown for manifest in demo.objects() if is_new]

                def greet() -> None:
                    _greet(server, kubeconfig, controllers, samples)
                    for demo in shown:
                        _suggest(demo)
                    if is_interactive():
                        print("Press Enter to see this again.", flush=True)

                stack.enter_context(on_enter(greet))
                later = [demo.later for demo in shown if demo.later is not None and is_new]
                starting = group.create_task(_start(client, feed, [*samples, *extra], greet, later))
                await asyncio.wait(running)
                starting.cancel()


async def _managers(
    stack: AsyncExitStack, admin: Client, kubeconfig: Path, accounts: Sequence[OperatorAccount]
) -> dict[str, Manager]:
    """Return a manager for each account, which holds the token of that account and no other."""
    config = load_config(kubeconfig)
    managers = {}
    for account in accounts:
        client = await stack.enter_async_context(await sign_in(admin, config, account))
        managers[account.name] = Manager(client, account.declared)
    return managers


async def _start(
    client: Client,
    feed: LiveFeed,
    samples: list[JsonObject],
    greet: Callable[[], None],
    later: Sequence[Callable[[Client], Awaitable[None]]],
) -> None:
    """Print the greeting when the feed is ready, or after a few seconds; then apply the samples."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_GREET_SECONDS):
            await feed.ready.wait()
    greet()
    await feed.ready.wait()
    await apply_samples(client, samples)
    for add in later:
        await add(client)


def _folder(options: UpOptions) -> AbstractContextManager[StateFolder]:
    return passing_folder() if options.state is None else state_folder(options.state)


@contextmanager
def _new_file(wanted: Path | None, folder: StateFolder) -> Iterator[Path]:
    """Create the file for the kubeconfig, readable by its owner only; delete it at the end."""
    path = wanted or folder.kubeconfig
    if wanted is None:
        path.unlink(missing_ok=True)  # left behind by a process that was killed
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        raise UsageError(
            f"--kubeconfig: {path} exists; name a new file, because it is deleted at the end"
        ) from None
    except OSError as error:
        raise UsageError(f"--kubeconfig: cannot write {path}: {error.strerror}") from error
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)  # its server is gone


@asynccontextmanager
async def _real_server(kubeconfig: Path, options: UpOptions) -> AsyncIterator[tuple[str, bool]]:
    """Run a real control plane and write its kubeconfig; yield its description; it is new.

    Its pods run as processes of this machine; images that the node does not have are stubs.
    """
    programs = await asyncio.to_thread(real_images) if options.cert_manager else {}
    print("starting etcd, kube-apiserver and kube-controller-manager ...", flush=True)
    async with control_plane_with_node(images={**programs, "*": STUB}) as running:
        kubeconfig.write_bytes(running.plane.kubeconfig.read_bytes())
        yield f"real control plane at {running.plane.server}", True


@asynccontextmanager
async def _server(
    kubeconfig: Path, folder: StateFolder, options: UpOptions
) -> AsyncIterator[tuple[str, bool]]:
    """Run the embedded server and write its kubeconfig; yield its description, and if it is new."""
    saved = folder.load() if options.state else SavedState()
    webhooks, sidecars = SampleWebhooks(), SampleSidecars()
    played = options.cert_manager or options.discovery_service
    server = ApiServer(namespace_defaults=True, webhooks=webhooks if played else None)
    if options.discovery_service:
        webhooks.places[DISCOVERY_SPACE] = sidecars.webhooks
        sidecars.serve(server)
    if saved.objects:
        server.restore(saved.objects, saved.revision)
    async with AsyncExitStack() as stack:
        webhooks.others = HttpsReviewCaller(server.services, SYSTEM)
        if options.cert_manager:
            await stack.enter_async_context(played_cert_manager(server, webhooks))
        endpoint = await _listen(stack, server, options.port, saved.port or _USUAL_PORT)
        endpoint.write_kubeconfig(kubeconfig)
        if options.state:
            port = int(endpoint.url.rpartition(":")[2])
            keeping = await stack.enter_async_context(asyncio.TaskGroup())
            stack.callback(folder.save, server, port)
            stack.callback(keeping.create_task(folder.keep(server, port)).cancel)
        yield f"embedded API server at {endpoint.url}", not saved.objects


async def _listen(stack: AsyncExitStack, server: ApiServer, wanted: int, usual: int) -> Endpoint:
    """Serve on the port that was asked for, or on the usual one if it is free, or on another."""
    try:
        return await stack.enter_async_context(server.serve(wanted or usual))
    except OSError as error:
        if wanted:
            raise UsageError(f"--port: cannot listen on {wanted}: {error.strerror}") from error
    return await stack.enter_async_context(server.serve())


async def install(client: Client, crd: JsonObject) -> None:
    """Apply a CustomResourceDefinition and wait until its kinds are served."""
    name = crd["metadata"]["name"]
    try:
        await client.apply(crd)
        await until_served(client, crd)
    except ApiError as error:
        raise UsageError(f"the definition of {name} was refused: {error}") from error
    except TimeoutError:
        raise UsageError(
            f"{name} is not served; to see why, run: kubectl describe crd {name}"
        ) from None


def _greet(
    server: str, kubeconfig: Path, controllers: list[Declared], samples: list[JsonObject]
) -> None:
    names = ", ".join(one.name for one in controllers) or "none (certwright up my_file.py)"
    kinds = [_watched(one)[0].plural for one in controllers if _watched(one)] or ["all"]
    kubectl = _kubectl()
    print(f"{server} · controllers: {names} · samples: {len(samples)} · press Ctrl-C to end")
    print("In another terminal:")
    print(f"  export KUBECONFIG={quote(str(kubeconfig.resolve()))}")
    if folder := unreachable_folder():
        print(f"  export PATH={quote(folder)}:$PATH")
    print(f"  {kubectl} get {','.join(dict.fromkeys(kinds))} --all-namespaces")
    print(f"  {kubectl} create deployment web --image=nginx --replicas=2", flush=True)


def _watched(declared: Declared) -> list[Resource]:
    """Return the kinds of a controller, its main one first, or of an operator."""
    if isinstance(declared, Operator):
        return [resource_of(kind) for kind in declared.kinds]
    return [watched.resource for watched in declared.watched]


def _suggest(demo: Demo) -> None:
    print(demo.introduction)
    for line in demo.suggestions(_kubectl()):
        print(f"  {line}")
    sys.stdout.flush()


def unreachable_folder() -> str:
    """Return the folder of the certwright command if it is not in PATH; else nothing."""
    command = Path(sys.executable).parent / "certwright"
    found = shutil.which("certwright")
    there = found is not None and Path(found).resolve() == command.resolve()
    return "" if there or not command.exists() else str(command.parent)


def _kubectl() -> str:
    """Return the command for kubectl: the one in PATH, else the one we built."""
    if shutil.which("kubectl"):
        return "kubectl"
    try:
        assets = find_assets()
    except AssetsMissing:
        assets = None
    if assets is None:
        print(
            "There is no kubectl on this machine; install it to try the commands below.",
            file=sys.stderr,
        )
        return "kubectl"
    return quote(str(assets.kubectl))
