"""The state of clients, as seen from here: Envoy's Client Status Discovery Service.

A client is shown the nodes of its own namespace, and of them versions and verdicts, no contents.
Which version is wanted, and which certificate was shown, have no field of their own in that
service; they are among the parameters of the node, by type and under `CERTIFICATE`.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from certwright.xds.access import ClientIdentity
from certwright.xds.grpc.call import CallHandler, GrpcCall
from certwright.xds.grpc.status import CallRefused, StatusCode
from certwright.xds.messages import (
    ClientStatusRequest,
    ClientStatusResponse,
    Undecodable,
    decode,
)
from certwright.xds.observations import Connections, EnvoyObservation
from certwright.xds.protocol.observation import SyncState, TypeObservation
from certwright.xds.services.unary import ManyCall, UnaryCall

_SERVICE: Final = "/envoy.service.status.v3.ClientStatusDiscoveryService"
FETCH: Final = f"{_SERVICE}/FetchClientStatus"
STREAM: Final = f"{_SERVICE}/StreamClientStatus"

CERTIFICATE: Final = "certificate"
SERIAL: Final = "serial"
NOT_AFTER: Final = "notAfter"
WANTED: Final = "wanted"
"""Names of parameters."""

_SYNCED, _NOT_SENT, _STALE, _ERROR = 1, 2, 3, 4
_REQUESTED, _ACKED, _NACKED = 1, 3, 4
_CLIENT_STATUS: Final = {
    SyncState.WAITING: _REQUESTED,
    SyncState.SENT: _REQUESTED,
    SyncState.ACKNOWLEDGED: _ACKED,
    SyncState.REJECTED: _NACKED,
}


def client_status_service(
    connections: Connections, *, many: bool
) -> Callable[[GrpcCall, ClientIdentity], CallHandler]:
    """Return what answers for the nodes of the client's namespace."""
    kind = ManyCall if many else UnaryCall

    def make(_call: GrpcCall, identity: ClientIdentity) -> CallHandler:
        def answer(data: bytes) -> bytes:
            try:
                request = decode(ClientStatusRequest, data)
            except Undecodable as error:
                raise CallRefused(StatusCode.INVALID_ARGUMENT, "request", str(error)) from None
            seen = [
                one
                for one in connections.observe()
                if one.node.namespace == identity.namespace and _matches(request, one.node.node_id)
            ]
            return encode_status(seen)

        return kind(answer)

    return make


def encode_status(seen: list[EnvoyObservation]) -> bytes:
    """Return what is known of clients as a ``ClientStatusResponse``."""
    response = ClientStatusResponse()
    for one in seen:
        config = response.config.add(client_scope=one.peer)
        config.node.id = one.node.node_id
        config.node.user_agent_name, _, config.node.user_agent_version = one.user_agent.partition(
            " "
        )
        shown = config.node.dynamic_parameters[CERTIFICATE].params
        shown[SERIAL], shown[NOT_AFTER] = one.serial, one.not_after.isoformat()
        for type_seen in one.types:
            config.node.dynamic_parameters[type_seen.type_url].params[WANTED] = type_seen.wanted
            _add(config.generic_xds_configs.add(), type_seen)
    return bytes(response.SerializeToString())


def _add(entry: Any, seen: TypeObservation) -> None:
    entry.type_url = seen.type_url
    entry.version_info = seen.held
    entry.config_status = _config_status(seen)
    entry.client_status = _CLIENT_STATUS[seen.state]
    _set_time(entry.last_updated, seen.since)
    if seen.rejected:
        entry.error_state.details = seen.message
        entry.error_state.version_info = seen.rejected
        _set_time(entry.error_state.last_update_attempt, seen.since)


def _config_status(seen: TypeObservation) -> int:
    if seen.rejected:
        return _ERROR
    if seen.in_sync:
        return _SYNCED
    return _STALE if seen.held else _NOT_SENT


def _set_time(field: Any, instant: datetime) -> None:
    field.seconds = int(instant.timestamp())
    field.nanos = instant.microsecond * 1000


def _matches(request: Any, node_id: str) -> bool:
    if not request.node_matchers:
        return True
    return any(_fits(matcher.node_id, node_id) for matcher in request.node_matchers)


def _fits(matcher: Any, node_id: str) -> bool:
    if matcher.exact:
        return bool(node_id == matcher.exact)
    return node_id.startswith(matcher.prefix) and node_id.endswith(matcher.suffix)
