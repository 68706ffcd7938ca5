"""What the operator concludes from the reports of all pods of a control plane."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from certwright.api.discoverydefaults import CLIENT_SECRET
from certwright.kube import JsonObject, Key, key_of
from certwright.kube.kinds import Lease, Pod
from certwright.operators.discoveryservice.certificates.rotation.observer import Users
from certwright.operators.discoveryservice.certificates.rotation.places import (
    INSTANCE,
    SERVICE_LABELS,
)
from certwright.operators.discoveryservice.connected import messages
from certwright.operators.discoveryservice.connected.report import CertificateReport, read_report
from certwright.operators.discoveryservice.replica import is_ready
from certwright.runtime import Context, KeepFields, Watched, select

WATCHED: Final[tuple[Watched, ...]] = (
    select(Lease, labels=SERVICE_LABELS),
    select(
        Pod,
        labels=SERVICE_LABELS,
        transform=KeepFields("/status/phase", "/status/conditions"),
    ),
)
"""What tells of the pods of control planes."""


@dataclass(frozen=True, slots=True)
class Replica:
    """A pod of a control plane that may have Envoys."""

    name: str
    ready: bool
    report: CertificateReport | None

    @property
    def knows_all(self) -> bool:
        """Whether its report is about all Envoys that it may have."""
        return self.ready and self.report is not None and self.report.settled


class ReportObserver:
    """Tells a rotation what the pods of control planes report; needs what is `WATCHED`."""

    def observe(self, ctx: Context, service: Key) -> Callable[[Key], Users]:
        """Return what tells who uses the certificate of a Secret of a DiscoveryService."""
        labels = f"{INSTANCE}={service.name}"
        pods = ctx.list(Pod, service.namespace, labels=labels)
        leases = ctx.list(Lease, service.namespace, labels=labels)
        found = replicas(pods, leases)
        return lambda secret: users_of(found, secret)


def replicas(pods: Iterable[JsonObject], leases: Iterable[JsonObject]) -> list[Replica]:
    """Return the pods that run, each with its report. A report without a pod counts no more."""
    reports = {key_of(one): read_report(one) for one in leases}
    return [
        Replica(str(key_of(pod)), is_ready(pod), reports.get(key_of(pod)))
        for pod in sorted(pods, key=key_of)
        if (pod.get("status") or {}).get("phase") == "Running"
    ]


def users_of(found: Sequence[Replica], secret: Key) -> Users:
    """Return who uses the certificate of a Secret: of a namespace's Envoys, or of the server.

    Where a pod says nothing of it, or may not know all, neither is the answer complete: then only
    the time tells.
    """
    if secret.name != CLIENT_SECRET:
        return _server_users(found)
    serials: dict[str, str] = {}
    complete = bool(found)
    for one in found:
        complete = complete and one.knows_all
        report, namespace = one.report or CertificateReport(), secret.namespace
        if late := report.late.get(namespace):
            serials |= dict.fromkeys(late.names, "")
            if (more := late.number - len(late.names)) > 0:
                serials[messages.other_envoys(more, namespace, one.name)] = ""
        elif namespace in report.shown:
            serials[messages.envoys_of(namespace, one.name)] = report.shown[namespace]
        else:
            complete = False
    return Users(serials, complete=complete)


def _server_users(found: Sequence[Replica]) -> Users:
    told = {messages.server_of(one.name): one.report for one in found if one.report is not None}
    return Users(
        {name: report.server for name, report in told.items()},
        {name: report.trusts for name, report in told.items()},
        complete=bool(found) and len(told) == len(found),
    )
