"""The only package that opens a connection to an API server.

Requests are values built by pure functions (`certwright.client.request`), carried by a
`Transport`, answered with objects or exceptions. Start with `connect`.
"""

from certwright.client.client import Client
from certwright.client.config.config import (
    Config,
    ExecPlugin,
    Impersonation,
    InteractiveMode,
    Material,
    User,
    in_cluster,
)
from certwright.client.config.context import load_config
from certwright.client.connect import connect
from certwright.client.discovery import Discovery
from certwright.client.errors import (
    BadAnswer,
    BodyTooLarge,
    ConfigError,
    ConnectFailed,
    ConnectionLost,
    CredentialError,
    LineTooLong,
    NoConnectionFree,
    NotAnApiServer,
    Timeout,
    TlsFailed,
    TransportError,
    WrongShape,
)
from certwright.client.http.transport import HttpTransport, Limits
from certwright.client.observe import Observer
from certwright.client.reader import Listing
from certwright.client.request import Propagation, Selection, Validation, WatchOptions
from certwright.client.responses import ListMeta, Page
from certwright.client.retry import Policy
from certwright.client.served import until_served
from certwright.client.transport import Request, Response, Stream, Transport
from certwright.client.watchlines import WatchLines

__all__ = [
    "BadAnswer",
    "BodyTooLarge",
    "Client",
    "Config",
    "ConfigError",
    "ConnectFailed",
    "ConnectionLost",
    "CredentialError",
    "Discovery",
    "ExecPlugin",
    "HttpTransport",
    "Impersonation",
    "InteractiveMode",
    "Limits",
    "LineTooLong",
    "ListMeta",
    "Listing",
    "Material",
    "NoConnectionFree",
    "NotAnApiServer",
    "Observer",
    "Page",
    "Policy",
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
    "Validation",
    "WatchLines",
    "WatchOptions",
    "WrongShape",
    "connect",
    "in_cluster",
    "load_config",
    "until_served",
]
