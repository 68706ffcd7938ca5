"""Which Envoy holds what, asked of a discovery server itself."""

import asyncio
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from certwright.apply.engine.blockers import human_duration
from certwright.cli.errors import UsageError
from certwright.cli.options import Output
from certwright.cli.terminal.output import document, fitted, shortened, table, terminal_width
from certwright.client.http.errors import InvalidMaterial
from certwright.client.http.tls import client_context, identify
from certwright.clock import SYSTEM
from certwright.kube import JsonObject
from certwright.kube.text import printable
from certwright.xds.grpc.unarycall import unary_call
from certwright.xds.messages import ClientStatusRequest, ClientStatusResponse, decode
from certwright.xds.services.clientstatus import CERTIFICATE, FETCH, NOT_AFTER, SERIAL, WANTED

_SECONDS: Final = 20.0
_HEADS: Final = (
    "NODE", "ENVOY", "VERSION", "SERIAL", "TYPE", "WANTED", "HELD", "STATE", "SINCE", "MESSAGE",
)  # fmt: skip
_SHORT: Final = 8
"""How many digits of a serial number a table shows, the last ones."""
_LONGEST_NODE: Final = 40
"""How much of a node-id a table shows, so that there is room for the rest of the line."""
_STATES: Final = {1: "Synced", 2: "NotSent", 3: "Stale", 4: "Error"}
_VERDICTS: Final = {1: "Requested", 3: "ACK", 4: "NACK"}


@dataclass(frozen=True, slots=True)
class AskedServer:
    """A discovery server, and how to show oneself to it."""

    address: str
    """``host:port``."""
    name: str
    """Whom its certificate must name; the host if empty."""
    certificates: Path
    """A folder with the ``tls.crt``, ``tls.key`` and ``ca.crt`` of a namespace's Envoys."""


async def show_envoys(servers: Sequence[AskedServer], node: str, output: Output) -> int:
    """Print what each Envoy of a namespace holds; return 1 if one does not hold what it shall."""
    rows = [row for one in servers for row in await ask(one, node)]
    if output is not Output.TABLE:
        print(document(rows, output))
    else:
        print(fitted(envoy_table(rows, SYSTEM.now()), terminal_width()))
    return 0 if all(one["state"] == "Synced" for one in rows) else 1


async def ask(server: AskedServer, node: str) -> list[JsonObject]:
    """Return a row for each Envoy and type; `UsageError` if the server does not answer."""
    host, _, port = server.address.rpartition(":")
    host = host.strip("[]")
    if not host or not port.isdecimal():
        raise UsageError(f"--server {server.address!r} is not an address such as localhost:18000")
    request = ClientStatusRequest()
    if node:
        request.node_matchers.add().node_id.exact = node
    context, name = await asyncio.to_thread(_context, server.certificates), server.name or host
    try:
        async with asyncio.timeout(_SECONDS):
            body = request.SerializeToString()
            answer = await unary_call(host, int(port), context, name, FETCH, body)
    except (OSError, TimeoutError) as error:
        raise UsageError(f"{server.address}: {error or 'no answer in time'}") from None
    return rows_of(decode(ClientStatusResponse, answer))


def rows_of(answer: Any) -> list[JsonObject]:
    """Return the answer of a server as rows."""
    return [
        {
            "node": config.node.id,
            "envoy": config.client_scope,
            "version": config.node.user_agent_version,
            "serial": _parameter(config.node, CERTIFICATE, SERIAL),
            "certificateExpires": _parameter(config.node, CERTIFICATE, NOT_AFTER),
            "type": one.type_url.rpartition(".")[2],
            "wanted": _parameter(config.node, one.type_url, WANTED),
            "held": one.version_info,
            "state": _STATES.get(one.config_status, "Unknown"),
            "verdict": _VERDICTS.get(one.client_status, "Unknown"),
            "since": datetime.fromtimestamp(one.last_updated.seconds, UTC).isoformat(),
            "rejected": one.error_state.version_info,
            "message": one.error_state.details,
        }
        for config in answer.config
        for one in config.generic_xds_configs
    ]


def _parameter(node: Any, of: str, name: str) -> str:
    """Return a parameter of a node; empty from a server that does not tell it."""
    known = node.dynamic_parameters
    return str(known[of].params.get(name, "")) if of in known else ""


def envoy_table(rows: list[JsonObject], now: datetime) -> str:
    """Return a line for each Envoy and type, those that are not in sync first."""
    ordered = sorted(rows, key=lambda one: (one["state"] == "Synced", one["node"], one["envoy"]))
    return table(
        _HEADS,
        [
            (
                shortened(printable(one["node"]), _LONGEST_NODE), one["envoy"],
                shortened(printable(one["version"]), _LONGEST_NODE), one["serial"][-_SHORT:],
                one["type"], one["wanted"], one["held"],
                f"{one['state']} {one['verdict']}",
                human_duration(now - datetime.fromisoformat(one["since"])), one["message"],
            )
            for one in ordered
        ],
    )  # fmt: skip


def _context(folder: Path) -> ssl.SSLContext:
    try:
        read = [(folder / name).read_bytes() for name in ("ca.crt", "tls.crt", "tls.key")]
        context = client_context(read[0])
        identify(context, read[1], read[2])
    except OSError as error:
        raise UsageError(f"{error.filename or folder}: {error.strerror or error}") from None
    except InvalidMaterial as error:
        raise UsageError(f"{folder}: ca.crt, tls.crt or tls.key cannot be used: {error}") from None
    return context
