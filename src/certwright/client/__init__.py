"""The client of the Kubernetes API: the only package that opens a connection to a server.

A call of `Client` enters; an object or an exception leaves. On the way `request` builds a value,
the `sender` bounds and repeats, a `Transport` carries it (`httptransport` over `http`, or the
embedded server), and `responses` decodes. `config` says which server and as which user. Start
with `connect`.
"""

from certwright.client.client import Client, connect, until_served
from certwright.client.config.config import Config, Material, User, in_cluster
from certwright.client.config.context import load_config
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
from certwright.client.httptransport import HttpTransport, Limits
from certwright.client.request import Propagation, Selection, WatchOptions
from certwright.client.sender import Observer
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
