"""Failures on the way to an API server, as exceptions.

::

    TransportError               there is no usable response
    ├── ConnectFailed            the server was not reached: nothing was sent
    │   ├── NoConnectionFree     …because all connections were busy with other requests
    │   └── TlsFailed            …because one side does not trust the other's certificate
    ├── CredentialError          there are no credentials: nothing was sent
    ├── ConnectionLost           closed after sending: whether the request took effect is unknown
    ├── Timeout                  no response in time: whether it took effect is unknown
    ├── NotAnApiServer           something responded, but not a Kubernetes API server
    └── BadResponse              the response cannot be used
        ├── BodyTooLarge         …because it exceeds the limit on bodies
        ├── LineTooLong          …because a watch event exceeds the limit on lines
        └── WrongShape           …because the object does not fit the type it was read as

    ConfigError (ValueError)     the configuration cannot work; nothing was tried

Refusals of the server are not among them: those are `certwright.kube.ApiError`. Every message
names the server, file or object concerned and what to do. None holds a token, a password, a
key or a body.
"""


class TransportError(Exception):
    """A request got no usable response."""


class ConnectFailed(TransportError):
    """The server was not reached; nothing was sent, so repeating is safe."""


class NoConnectionFree(ConnectFailed):
    """Other requests held all connections; nothing was sent. Repeating means to queue again."""


class TlsFailed(ConnectFailed):
    """The TLS handshake failed; nothing was sent, and repeating alone does not help."""


class CredentialError(TransportError):
    """The credentials could not be obtained; nothing was sent."""


class ConnectionLost(TransportError):
    """The connection ended after the request was sent; it may or may not have taken effect."""


class Timeout(TransportError):
    """The response did not come in time; the request may or may not have taken effect."""


class NotAnApiServer(TransportError):
    """The server at this address does not speak the Kubernetes API."""


class BadResponse(TransportError):
    """The server responded, and the response cannot be used."""


class BodyTooLarge(BadResponse):
    """The body exceeds the limit; the rest of it was not read."""


class LineTooLong(BadResponse):
    """A watch sent a line that exceeds the limit; the watch was ended."""


class WrongShape(BadResponse):
    """An object does not fit the type it was to be read as."""


class ConfigError(ValueError):
    """The configuration cannot work; the message names the file, the entry and the way out."""
