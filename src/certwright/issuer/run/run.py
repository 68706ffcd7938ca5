"""An issuer as a process: checked first, then run until a signal ends it."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import structlog

from certwright.api.certificates import CertificateSigningRequest
from certwright.api.certmanager import CertificateRequest
from certwright.client import Client, HttpTransport, TransportError, load_config
from certwright.clock import SYSTEM, Clock
from certwright.issuer.run.manifests import Installation, controller_rules, namespace_rules
from certwright.issuer.run.preflight import (
    Prerequisite,
    missing_approval,
    missing_kinds,
    missing_rules,
)
from certwright.kube import ApiError, Resource
from certwright.runtime import (
    LeaderElection,
    ListenAddress,
    Manager,
    MemoryTrimmer,
    Metrics,
    configure_logs,
    on_signals,
)

if TYPE_CHECKING:
    from certwright.issuer.app import IssuerApp

_log = structlog.get_logger()


class NotReadyToRun(Exception):
    """Something is missing that the process cannot do without; the message lists it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How to run."""

    kubeconfig: Path | None = None
    context: str | None = None
    leader_elect: bool = True
    probes: ListenAddress | None = None
    log_format: str = "auto"
    log_level: str = "info"
    preflight: bool = True
    installation: Installation


async def examine(
    client: Client, app: "IssuerApp[Any]", where: Installation, *, account: str = ""
) -> list[Prerequisite]:
    """Check everything an issuer needs of a cluster, for ourselves or for an *account*."""
    kinds = [kind.resource for kind in app.kinds]
    secrets = app.spec.uses_secrets
    wide = controller_rules(kinds, app.settings, uses_secrets=secrets)
    near = namespace_rules(kinds, app.settings, where.namespace, uses_secrets=secrets)
    prerequisites = await missing_kinds(client, [*kinds, *_requests(app)])
    prerequisites += await missing_rules(client, wide, account=account)
    for namespace, rules in near.items():
        prerequisites += await missing_rules(client, rules, namespace, account=account)
    if app.settings.certificate_requests:
        prerequisites.append(await missing_approval(client, kinds, where))
    return prerequisites


async def serve(app: "IssuerApp[Any]", options: RunOptions, clock: Clock = SYSTEM) -> None:
    """Run an issuer until a signal ends it; `NotReadyToRun` without kinds or permissions."""
    config = load_config(options.kubeconfig, options.context)
    as_json = {"json": True, "text": False}.get(options.log_format)
    configure_logs(level=options.log_level, as_json=as_json)
    _log.info("starting", issuer=app.name, server=config.server, configuration=config.source)
    metrics = Metrics(urlsplit(config.server).netloc)
    where = options.installation
    async with Client(HttpTransport(config), observers=[metrics]) as client:
        if options.preflight:
            await refuse_to_start(client, app, where)
        election = None
        if options.leader_elect:
            election = LeaderElection(name=where.name, namespace=where.namespace)
        manager = Manager(
            client,
            [app.operator_in(where.namespace)],
            clock=clock,
            leader_election=election,
            probes=options.probes,
            metrics=metrics,
        )
        manager.add(MemoryTrimmer(manager))
        with on_signals(manager.stop, manager.dump):
            await manager.run()


async def refuse_to_start(client: Client, app: "IssuerApp[Any]", where: Installation) -> None:
    """Refuse to start if something is missing that it cannot do without.

    A server that does not answer is no reason: the process waits for it. Raises `NotReadyToRun`;
    the message names every rule and kind to add.
    """
    try:
        prerequisites = await examine(client, app, where)
    except (ApiError, TransportError):
        return
    problems = [
        f"{one.what}: {one.problem}" for one in prerequisites if one.problem and one.is_fatal
    ]
    if problems:
        raise NotReadyToRun("\n".join(problems))


def _requests(app: "IssuerApp[Any]") -> list[Resource]:
    settings = app.settings
    wanted = [
        (settings.certificate_requests, CertificateRequest.resource),
        (settings.kubernetes_csrs, CertificateSigningRequest.resource),
    ]
    return [kind for is_wanted, kind in wanted if is_wanted]
