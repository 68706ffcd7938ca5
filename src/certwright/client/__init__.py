"""The only package that opens a connection to an API server.

Requests are values built by pure functions (`certwright.client.request`), carried by a
`Transport`, answered with objects or exceptions. Start with `connect`.
"""

from certwright.client.client import Client
from certwright.client.config.config import Config, Material, User, in_cluster
from certwright.client.config.context import load_config
from certwright.client.connect import connect
from certwright.client.errors import (
    BadResponse,
    BodyTooLarge,
    ConfigError,
    ConnectFailed,
    ConnectionLost,
    CredentialError,
    NoConnectionFree,
    NotAnApiServer,
    Timeout,
    TlsFailed,
    TransportError,
    WrongShape,
)
from certwright.client.http.transport import HttpTransport, Limits
from certwright.client.observe import Observer
from certwright.client.request import Propagation, Selection, WatchOptions
from certwright.client.served import until_served
from certwright.client.transport import Request, Response, Stream, Transport

__all__ = [
    "BadResponse",
    "BodyTooLarge",
    "Client",
    "Config",
    "ConfigError",
    "ConnectFailed",
    "ConnectionLost",
    "CredentialError",
    "HttpTransport",
    "Limits",
    "Material",
    "NoConnectionFree",
    "NotAnApiServer",
    "Observer",
    "Propagation",
    "Request",
    "Response",
    "Selection",
    "Stream",
    "Timeout",
    "TlsFailed",
    "Transport",
    "TransportError",
    "User",
    "WatchOptions",
    "WrongShape",
    "connect",
    "in_cluster",
    "load_config",
    "until_served",
]
