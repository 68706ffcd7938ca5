"""Requests as bytes: what goes over the wire, free of anything that could start another one."""

import re
from urllib.parse import quote, urlsplit

from certwright.client.config.config import Config
from certwright.client.config.credentials import Login
from certwright.client.http.dialer import authorization
from certwright.client.transport import Request

_is_plain = re.compile(r"[A-Za-z0-9._~-]*").fullmatch
_is_start = re.compile(r"[A-Z]+ [!\"$-~]+ HTTP/1\.1").fullmatch
_is_header = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+: [^\x00-\x08\x0a-\x1f\x7f]*").fullmatch
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})


class RequestWriter:
    """Writes requests to the server of a configuration, each with the given headers."""

    def __init__(self, config: Config, *headers: tuple[str, str]) -> None:
        server = urlsplit(config.server)
        self._base = server.path.rstrip("/")
        always = _headers((("host", server.netloc), *headers))
        if config.proxy_url and server.scheme == "http":
            # Without a tunnel it is the proxy that reads the request.
            self._base = config.server.rstrip("/")
            always += authorization(urlsplit(config.proxy_url))
        self._always = always

    def write(self, request: Request, login: Login) -> tuple[bytes, bytes]:
        """Return head and body.

        Raises:
            ValueError: something in the request is no part of a URL or of a header.
        """
        start = f"{request.method} {self._target(request)} HTTP/1.1"
        if not _is_start(start):
            raise ValueError(f"{request.verb}: the path or the query cannot be part of a URL")
        head = f"{start}\r\n{self._always}{_headers(request.headers)}"
        if login.authorization:
            head = f"{head}authorization: {login.authorization}\r\n"
        body = request.body or b""
        if body or request.method in _WITH_BODY:
            head = f"{head}content-length: {len(body)}\r\n"
        return f"{head}\r\n".encode(), body

    def _target(self, request: Request) -> str:
        if not request.query:
            return f"{self._base}{request.path}"
        query = "&".join(
            # Most values need no quoting, and finding that out is ten times cheaper.
            [
                f"{name}={value if _is_plain(value) else quote(value)}"
                for name, value in request.query
            ]
        )
        return f"{self._base}{request.path}?{query}"


def _headers(headers: tuple[tuple[str, str], ...]) -> str:
    lines = [f"{name}: {value}" for name, value in headers]
    for line in lines:
        if not _is_header(line):
            raise ValueError(f"the header {line.partition(':')[0]!r} holds what no header can")
    lines.append("")
    return "\r\n".join(lines)
