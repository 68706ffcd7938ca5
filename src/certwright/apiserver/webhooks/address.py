"""Where a webhook is reached, read from its client configuration. Pure."""

import base64
import binascii
from dataclasses import dataclass
from urllib.parse import urlsplit

from certwright.apiserver.gotext import quoted
from certwright.apiserver.webhooks.response import CallFailed
from certwright.kube.objects import JsonObject

_HTTPS = 443


@dataclass(frozen=True, slots=True)
class ServicePort:
    """A port of a Service."""

    namespace: str
    name: str
    port: int


@dataclass(frozen=True, slots=True)
class WebhookAddress:
    """Where a webhook is reached, and what its certificate has to show."""

    host: str
    """Host and port as the URL names them."""
    path: str
    query: str
    server_name: str
    """The name to look for in the certificate."""
    authorities: bytes
    """PEM; empty for those of the system."""
    service: ServicePort | None = None
    """The Service to be resolved; None if the host is the one to connect to."""

    @property
    def url(self) -> str:
        """The URL to post to."""
        query = f"?{self.query}" if self.query else ""
        return f"https://{self.host}{self.path}{query}"

    def failed(self, why: str) -> CallFailed:
        """Return the failure of a request, as Go's HTTP client describes it."""
        return CallFailed(f"Post {quoted(self.url)}: {why}")


def webhook_address(client_config: JsonObject, seconds: int) -> WebhookAddress:
    """Return where a webhook is reached that has so many seconds to answer."""
    try:
        authorities = base64.b64decode(client_config.get("caBundle") or "")
    except binascii.Error:
        authorities = b""
    timeout = f"timeout={seconds}s" if seconds else ""
    service = client_config.get("service")
    if service:
        port = service.get("port") or _HTTPS
        name = f"{service['name']}.{service['namespace']}.svc"
        # Without a path requests go to the root.
        path = service.get("path") or "/"
        found = ServicePort(service["namespace"], service["name"], port)
        return WebhookAddress(f"{name}:{port}", path, timeout, name, authorities, found)
    url = urlsplit(client_config.get("url") or "")
    if not url.netloc:
        raise CallFailed("webhook configuration must have either service or URL")
    return WebhookAddress(url.netloc, url.path or "/", timeout, url.hostname or "", authorities)
