"""Failures on the way to an API server, as exceptions.

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
