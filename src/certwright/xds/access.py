"""Who a client is, by its certificate, and which nodes it may speak for.

The certificate was verified in the handshake. Of its alternative names one URI says the namespace:
``spiffe://<discovery service>/ns/<namespace>``. A client gets the configuration of its own
namespace only: the node-id that it names is no secret, so it proves nothing.
"""

import re
import ssl
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from certwright.xds.grpc.status import CallRefused, StatusCode
from certwright.xds.snapshot import NodeKey

_LABEL: Final = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_URI: Final = re.compile(rf"spiffe://(?P<service>{_LABEL}(\.{_LABEL})*)/ns/(?P<namespace>{_LABEL})")


@dataclass(frozen=True, slots=True)
class ClientIdentity:
    """What a verified certificate says of its holder."""

    service: str
    """The discovery service that it was issued for."""
    namespace: str
    serial: str
    """In hexadecimal digits."""
    not_after: datetime


def client_uri(service: str, namespace: str) -> str:
    """Return the URI by which the certificates of a namespace are recognised."""
    uri = f"spiffe://{service}/ns/{namespace}"
    if not _URI.fullmatch(uri):
        raise ValueError(f"{service!r} or {namespace!r} is not the name of an object")
    return uri


def identify_client(certificate: Mapping[str, Any] | None) -> ClientIdentity:
    """Return who a verified certificate is for, as the ssl module describes it.

    Raises:
        CallRefused: there is none, or it names no namespace, or more than one.
    """
    if not certificate:
        raise _unknown("no_certificate", "a client certificate is required")
    names = certificate.get("subjectAltName", ())
    found = {
        value: match for kind, value in names if kind == "URI" and (match := _URI.fullmatch(value))
    }
    if len(found) != 1:
        raise _unknown(
            "no_namespace",
            "the client certificate names no namespace; it needs one URI such as "
            "spiffe://<discovery service>/ns/<namespace>",
        )
    [match] = found.values()
    seconds = ssl.cert_time_to_seconds(str(certificate["notAfter"]))
    return ClientIdentity(
        match["service"],
        match["namespace"],
        format(int(str(certificate["serialNumber"]), 16), "x"),
        datetime.fromtimestamp(seconds, UTC),
    )


def admit_node(identity: ClientIdentity, node_id: str, owners: Collection[str]) -> NodeKey:
    """Return the node that a client speaks for, given the namespaces that have its node-id.

    A node-id that no namespace has yet is admitted: its configuration may come later.

    Raises:
        CallRefused: it names none, or one of other namespaces.
    """
    if not node_id:
        raise CallRefused(
            StatusCode.INVALID_ARGUMENT, "no_node", "the first request names no node-id"
        )
    if owners and identity.namespace not in owners:
        raise CallRefused(
            StatusCode.PERMISSION_DENIED,
            "foreign_node",
            f"the certificate is for namespace {identity.namespace!r}, which has no node-id "
            f"{node_id!r}; check the annotation of the Pod, or the nodeID of the configuration",
        )
    return NodeKey(identity.namespace, node_id)


def _unknown(reason: str, message: str) -> CallRefused:
    return CallRefused(StatusCode.UNAUTHENTICATED, reason, message)
