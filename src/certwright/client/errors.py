"""What goes wrong on the way to an API server, as exceptions.

::

    TransportError               there is no usable answer
    ├── ConnectFailed            the server was not reached: nothing was sent
    │   ├── NoConnectionFree     …because all connections were busy with other requests
    │   └── TlsFailed            …because one side does not trust the other's certificate
    ├── CredentialError          there is nothing to log in with: nothing was sent
    ├── ConnectionLost           cut after sending: whether the request took effect is unknown
    ├── Timeout                  no answer in time: whether it took effect is unknown
    ├── NotAnApiServer           something answered, but not a Kubernetes API server
    └── BadResponse                the answer cannot be used
        ├── BodyTooLarge         …because it exceeds the bound on bodies
        ├── LineTooLong          …because a watch event exceeds the bound on lines
        └── WrongShape           …because the object does not fit the type it was read as

    ConfigError (ValueError)     the configuration cannot work; nothing was tried

A server that answers "no" is no error of transport: refusals are `certwright.kube.ApiError`.
Every message says which server, file or object is concerned and what to do. None holds a
token, a password, a key or a body.
"""


class TransportError(Exception):
    """A request got no usable answer."""


class ConnectFailed(TransportError):
    """The server was not reached; nothing was sent, so repeating is safe."""


class NoConnectionFree(ConnectFailed):
    """Other requests held all connections; nothing was sent, and repeating loses one's place."""


class TlsFailed(ConnectFailed):
    """The TLS handshake failed; nothing was sent, and repeating alone does not help."""


class CredentialError(TransportError):
    """The credentials could not be obtained; nothing was sent."""


class ConnectionLost(TransportError):
    """The connection was cut after the request went out; it may or may not have taken effect."""


class Timeout(TransportError):
    """The answer did not come in time; the request may or may not have taken effect."""


class NotAnApiServer(TransportError):
    """Whatever answered does not speak the Kubernetes API."""


class BadResponse(TransportError):
    """The server answered and the answer cannot be used."""


class BodyTooLarge(BadResponse):
    """The body exceeds the bound; the rest of it was not read."""


class LineTooLong(BadResponse):
    """A watch sent a line that exceeds the bound; the watch was dropped."""


class WrongShape(BadResponse):
    """An object does not fit the type it was to be read as."""


class ConfigError(ValueError):
    """The configuration cannot work: names the file, the entry and the way out."""
