"""The process of ``certwright discovery-service``."""

import asyncio
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import structlog

from certwright.cli.errors import UsageError, system_message
from certwright.cli.loops import run_to_end
from certwright.cli.xds.schemas import find_schema
from certwright.client import Client, Config, HttpTransport, load_config
from certwright.operators.discoveryservice.injection.annotations import (
    ENVOY_IMAGE,
    SidecarDefaults,
)
from certwright.operators.discoveryservice.laterwebhook import later_webhook_operator
from certwright.operators.discoveryservice.pod import DRAIN, PodSettings, pod_operators
from certwright.runtime import (
    Declared,
    LeaderElection,
    ListenAddress,
    Manager,
    MemoryTrimmer,
    Metrics,
    configure_logs,
    on_signals,
)
from certwright.runtime.serve.probes import Probes
from certwright.tls.directory import CertificateDirectory

ALL: Final = ""
"""All interfaces, of IPv4 and IPv6: a listener on ``::`` would not accept IPv4."""

_POD: Final = re.compile(r"marin3r-(?P<service>[a-z0-9-]+)-[a-z0-9]+-[a-z0-9]{5}")
"""The name of a pod: of its Deployment, its ReplicaSet, and five characters."""

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessSettings:
    """What the command line asks for."""

    name: str
    server_directory: Path
    ca_directory: Path
    xds_port: int = 18000
    webhook_port: int = 8443
    addresses: tuple[str, ...] = ()
    envoy_image: str | None = None
    image: str = ""
    schema: Path | None = None
    debug: bool = False
    kubeconfig: Path | None = None
    context: str | None = None


def service_name(pod: str) -> str:
    """Return the DiscoveryService that a pod belongs to; `UsageError` if its name does not say.

    Command lines of marin3r do not name it, and its Deployments are called like ours.
    """
    found = _POD.fullmatch(pod)
    if found is None:
        raise UsageError("which DiscoveryService is it for? name it with --name")
    return found["service"]


def run_discovery_service(settings: ProcessSettings) -> None:
    """Run until a signal ends it; mistakes raise `UsageError` before anything starts."""
    schema = find_schema(settings.schema, None)
    addresses = [listen_address(text) for text in settings.addresses]
    config = load_config(settings.kubeconfig, settings.context)
    namespace = os.environ.get("POD_NAMESPACE") or config.namespace or "default"
    configure_logs(level="debug" if settings.debug else "info")
    operators = pod_operators(pod_settings(settings, namespace, os.environ), schema)
    election = LeaderElection(name=f"marin3r-{settings.name}", namespace=namespace)
    run_to_end(_run(config, operators, election, [one for one in addresses if one.port]))


@dataclass(frozen=True, slots=True, kw_only=True)
class LaterWebhookSettings:
    """What the command line of a webhook of marin3r's later era asks for."""

    certificates: CertificateDirectory
    port: int = 8443
    addresses: tuple[str, ...] = ()
    schema: Path | None = None
    debug: bool = False
    kubeconfig: Path | None = None
    context: str | None = None


def run_later_webhook(settings: LaterWebhookSettings) -> None:
    """Run until a signal ends it; mistakes raise `UsageError` before anything starts."""
    schema = find_schema(settings.schema, None)
    addresses = [listen_address(text) for text in settings.addresses]
    config = load_config(settings.kubeconfig, settings.context)
    configure_logs(level="debug" if settings.debug else "info")
    operator = later_webhook_operator(
        schema, settings.certificates, ListenAddress(settings.port, ALL)
    )
    run_to_end(_run(config, [operator], None, [one for one in addresses if one.port]))


def pod_settings(
    settings: ProcessSettings, namespace: str, environment: Mapping[str, str]
) -> PodSettings:
    """Return what the parts of the process are told."""
    return PodSettings(
        SidecarDefaults(settings.name, settings.envoy_image or ENVOY_IMAGE, settings.image),
        namespace,
        settings.server_directory,
        settings.ca_directory,
        ListenAddress(settings.xds_port, ALL),
        ListenAddress(settings.webhook_port, ALL),
        environment.get("POD_NAME", ""),
        environment.get("POD_UID", ""),
    )


def listen_address(text: str) -> ListenAddress:
    """Read an address such as ``:8383``; `UsageError` if it is none."""
    try:
        return ListenAddress.parse(text)
    except ValueError as error:
        raise UsageError(f"address {text!r}: {error}") from error


async def _run(
    config: Config,
    operators: Sequence[Declared],
    election: LeaderElection | None,
    addresses: list[ListenAddress],
) -> None:
    metrics = Metrics(urlsplit(config.server).netloc)
    async with Client(HttpTransport(config), observers=[metrics]) as client:
        manager = Manager(client, operators, leader_election=election, metrics=metrics, grace=DRAIN)
        for address in addresses:
            manager.add(_Probed(manager, address))
        manager.add(MemoryTrimmer(manager))
        _log.info("starting", server=config.server)
        with on_signals(manager.stop, manager.dump, None):
            await manager.run()


class _Probed:
    """Probes and metrics at an address."""

    def __init__(self, manager: Manager, address: ListenAddress) -> None:
        self._manager = manager
        self._address = address

    async def run(self) -> None:
        """Serve until cancelled; `UsageError` if the address is taken."""
        try:
            async with Probes(self._manager, self._address):
                await asyncio.Event().wait()
        except OSError as error:
            raise UsageError(
                f"cannot listen on {self._address.host}:{self._address.port}:"
                f" {system_message(error)}; choose another address, or port 0 to serve nothing"
            ) from error
