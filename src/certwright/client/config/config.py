"""How to reach one API server as one user, as plain values.

Files that hold credentials are named here and read, again and again, by `credentials`.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from urllib.parse import urlsplit

from certwright.client.errors import ConfigError
from certwright.kube import JsonObject

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True, slots=True)
class Material:
    """PEM text, given in place or as a file that may be replaced while we run."""

    data: bytes = field(default=b"", repr=False)
    path: str = ""

    def __bool__(self) -> bool:
        return bool(self.data or self.path)


class InteractiveMode(StrEnum):
    """Whether an exec plugin may ask questions on the terminal."""

    NEVER = "Never"
    IF_AVAILABLE = "IfAvailable"
    ALWAYS = "Always"


@dataclass(frozen=True, slots=True)
class ExecPlugin:
    """A program that prints credentials; arguments and variables may hold secrets."""

    command: str
    api_version: str
    args: tuple[str, ...] = field(default=(), repr=False)
    env: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    interactive_mode: InteractiveMode = InteractiveMode.IF_AVAILABLE
    install_hint: str = ""
    cluster_info: JsonObject | None = field(default=None, repr=False)
    """The cluster as described to the plugin, if the configuration asks for that."""


@dataclass(frozen=True, slots=True)
class User:
    """What requests authenticate with. A token file wins over a token, as in kubectl."""

    token: str = field(default="", repr=False)
    token_file: str = ""
    username: str = ""
    password: str = field(default="", repr=False)
    certificate: Material = Material()
    key: Material = Material()
    exec: ExecPlugin | None = None


@dataclass(frozen=True, slots=True)
class Impersonation:
    """The user to act as, if the real one may."""

    user: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Config:
    """One server, one user, and how to get there. Its repr holds no secret."""

    server: str
    namespace: str = "default"
    ca: Material = Material()
    """The authorities to trust; those of the system if empty."""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = field(default="", repr=False)
    user: User = User()
    impersonate: Impersonation = Impersonation()
    source: str = "the given configuration"
    """Where all this comes from, for messages."""

    def __post_init__(self) -> None:
        """Refuse a configuration that cannot work, before anything is tried."""
        if "@" in self.server:
            raise ConfigError(
                f"{self.source}: the server URL holds credentials; move them to the user entry"
            )
        if not _is_http_url(self.server):
            raise ConfigError(
                f"{self.source}: server {self.server!r} is not a URL; write https://host:port"
            )
        if self.insecure_skip_tls_verify and self.ca:
            raise ConfigError(
                f"{self.source}: insecure-skip-tls-verify and a certificate authority exclude "
                "each other; remove one of them"
            )
        if bool(self.user.certificate) != bool(self.user.key):
            raise ConfigError(
                f"{self.source}: a client certificate needs its key and the key its "
                "certificate; add the missing one to the user entry"
            )
        as_ = self.impersonate
        if not as_.user and (as_.uid or as_.groups or as_.extra):
            raise ConfigError(
                f"{self.source}: impersonating groups, a uid or extras needs a user; add 'as'"
            )
        if self.proxy_url and not _is_http_url(self.proxy_url):
            raise ConfigError(
                f"{self.source}: proxy-url is not an http:// or https:// URL; "
                "SOCKS proxies are not supported, put an HTTP proxy in front"
            )


def in_cluster(
    environ: Mapping[str, str] | None = None, directory: Path = SERVICE_ACCOUNT
) -> Config:
    """Return the configuration every pod gets; the token is read again when it is rotated."""
    environ = os.environ if environ is None else environ
    host = environ.get("KUBERNETES_SERVICE_HOST", "")
    port = environ.get("KUBERNETES_SERVICE_PORT", "")
    source = f"the service account in {directory}"
    if not host or not port:
        raise ConfigError(
            f"{source} cannot be used: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are "
            "not set, so this process does not run in a pod; name a kubeconfig instead"
        )
    token, ca = directory / "token", directory / "ca.crt"
    for path in (token, ca):
        if not path.is_file():
            raise ConfigError(
                f"{path} does not exist; set automountServiceAccountToken: true on the pod "
                "or its service account"
            )
    namespace = directory / "namespace"
    return Config(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        namespace=namespace.read_text().strip() if namespace.is_file() else "default",
        ca=Material(path=str(ca)),
        user=User(token_file=str(token)),
        source=source,
    )


def _is_http_url(text: str) -> bool:
    try:
        url = urlsplit(text)
        return url.scheme in {"http", "https"} and bool(url.hostname) and url.port != 0
    except ValueError:
        return False
