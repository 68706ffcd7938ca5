"""What the annotations of a Pod ask for.

What a Pod must not be created with is denied; where the original silently took a default, it is
taken as well and the client is warned.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from certwright.kube.names import dns_label_problems, dns_subdomain_problems
from certwright.kube.quantities import Quantity
from certwright.operators.discoveryservice.injection.ports import (
    HIGHEST,
    LOWEST,
    BadItem,
    SidecarPort,
    read_host_ports,
    read_ports,
)

PREFIX: Final = "marin3r.3scale.net/"
ENVOY_IMAGE: Final = "envoyproxy/envoy:v1.40.0"
STRATEGIES: Final = ("gradual", "immediate")
_AMOUNTS: Final = tuple(
    (kind, name) for kind in ("requests", "limits") for name in ("cpu", "memory")
)
_TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "FALSE", "false", "False"})
_LONGEST_DRAIN: Final = 24 * 3600
_FIRST_PORT: Final = 1
_WHITE: Final = frozenset("\t\r\n")
_LONGEST_TEXT: Final = 4096
_LONGEST: Final = {"node-id": 253, "cluster-id": 253, "envoy-extra-args": 32_768}
"""How many characters an annotation may have. Together they may have 256 KiB, and much of it would
be copied into the Pod, its log and the answer."""
_LONGEST_REASON: Final = 500
_MOST_UNKNOWN: Final = 10
"""So many annotations that have no effect are named."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SidecarDefaults:
    """What the sidecars of one DiscoveryService have in common."""

    discovery_service: str
    envoy_image: str = ENVOY_IMAGE
    manager_image: str = ""
    """The image with the shutdown manager; it is only needed by Pods that ask for that."""
    config_map: str = "envoy-sidecar-bootstrap"
    client_certificate: str = "envoy-sidecar-client-cert"


class InjectionDenied(Exception):
    """The Pod must not be created like this; *annotation* is the key at fault, if one is."""

    def __init__(self, message: str, annotation: str = "") -> None:
        super().__init__(message)
        self.annotation = annotation


@dataclass(frozen=True, slots=True)
class ShutdownManager:
    """Drains Envoy before it ends."""

    image: str
    port: int = 8090
    drain_seconds: int = 300
    drain_strategy: str = "gradual"
    hooks: tuple[str, ...] = ()
    """Containers that are kept until Envoy is drained."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SidecarRequest:
    """The sidecar that a Pod asks for."""

    node_id: str
    cluster_id: str
    container: str
    image: str
    ports: tuple[SidecarPort, ...]
    config_map: str
    config_volume: str
    tls_volume: str
    client_certificate: str
    extra_args: tuple[str, ...]
    resources: Mapping[str, Mapping[str, str]]
    admin_port: int
    admin_address: str
    access_log: str
    """Empty for none."""
    shutdown: ShutdownManager | None
    native: bool
    """Whether it is started before the containers of the Pod, and ends after them."""
    warnings: tuple[str, ...]


@dataclass
class _Reader:
    """Reads single annotations; notes what it was asked for, and what it warns about."""

    found: Mapping[str, str]
    warnings: list[str] = field(default_factory=list)
    known: set[str] = field(default_factory=set)

    def text(self, name: str, default: str = "") -> str:
        self.known.add(name)
        text = str(self.found.get(PREFIX + name) or "")
        if len(text) > (most := _LONGEST.get(name, _LONGEST_TEXT)):
            raise _denied(name, f"{len(text)} characters are more than {most}")
        if not all(one.isprintable() or one in _WHITE for one in text):
            raise _denied(name, "it has characters that cannot be printed")
        return text or default

    def name(self, name: str, default: str, problems: Callable[[str], list[str]]) -> str:
        text = self.text(name, default)
        if wrong := problems(text):
            raise _denied(name, f"{text!r} is not a valid name: {'; '.join(wrong)}")
        return text

    def defaulted(self, name: str, default: T, read: Callable[[str], T | None], what: str) -> T:
        """Return a value that is warned about, not denied, if it cannot be read."""
        text = self.text(name)
        if not text:
            return default
        value = read(text)
        if value is None:
            self.warn(name, f"{text!r} is not {what}; {_shown(default)} is used")
            return default
        return value

    def warn(self, name: str, message: str) -> None:
        self.warnings.append(f"annotation {PREFIX}{name}: {message}")


def read_annotations(found: Mapping[str, str], defaults: SidecarDefaults) -> SidecarRequest:
    """Return what annotations ask for; `InjectionDenied` says which cannot be followed."""
    read = _Reader(found)
    node_id = read.text("node-id")
    if not node_id.strip():
        what = "is empty" if PREFIX + "node-id" in found else "is missing"
        raise _denied("node-id", "it names the configuration that Envoy gets", what)
    named = read.text("discovery-service.name", defaults.discovery_service)
    if named != defaults.discovery_service:
        belongs = f"this namespace belongs to DiscoveryService {defaults.discovery_service}"
        raise _denied("discovery-service.name", f"{named!r} does not serve here; {belongs}")
    if (version := read.text("envoy-api-version", "v3")) != "v3":
        raise _denied("envoy-api-version", f"{version!r} is not served; v3 is")
    request = SidecarRequest(
        node_id=node_id,
        cluster_id=read.text("cluster-id", node_id),
        container=read.name("container-name", "envoy-sidecar", dns_label_problems),
        image=read.text("envoy-image", defaults.envoy_image),
        ports=tuple(_ports(read)),
        config_map=read.name("ads-configmap", defaults.config_map, dns_subdomain_problems),
        config_volume=read.name("config-volume", "envoy-sidecar-bootstrap", dns_label_problems),
        tls_volume=read.name("tls-volume", "envoy-sidecar-tls", dns_label_problems),
        client_certificate=read.name(
            "client-certificate", defaults.client_certificate, dns_subdomain_problems
        ),
        extra_args=_arguments(read),
        resources=_resources(read),
        admin_port=read.defaulted("admin.port", 9901, _port, "a port from 1 to 65535"),
        admin_address=read.text("admin.bind-address", "0.0.0.0"),  # noqa: S104 - in a Pod
        access_log=_access_log(read),
        shutdown=_shutdown_manager(read, defaults),
        native=read.defaulted("native-sidecar", default=False, read=_switch, what="true or false"),
        warnings=(),
    )
    if request.config_volume == request.tls_volume:
        raise _denied("tls-volume", f"{request.tls_volume!r} is also the config-volume")
    if read.text("init-manager.image"):
        read.warn("init-manager.image", "there is no init manager; the annotation has no effect")
    names = (key.removeprefix(PREFIX) for key in sorted(found) if key.startswith(PREFIX))
    for name in [one for one in names if one not in read.known][:_MOST_UNKNOWN]:
        read.warn(name, "is not known; the annotation has no effect")
    return replace(request, warnings=tuple(read.warnings))


def _ports(read: _Reader) -> Iterator[SidecarPort]:
    listed, mappings = read.text("ports"), read.text("host-port-mappings")
    try:
        host_ports = read_host_ports(mappings)
    except BadItem as error:
        raise _denied("host-port-mappings", str(error)) from None
    names = set()
    try:
        for one in read_ports(listed, host_ports):
            if isinstance(one, str):
                read.warn("ports", one)
            else:
                names.add(one.name)
                yield one
    except BadItem as error:
        raise _denied("ports", str(error)) from None
    for name in host_ports.keys() - names:
        read.warn("host-port-mappings", f"there is no port {name!r}; its mapping has no effect")


def _arguments(read: _Reader) -> tuple[str, ...]:
    text = read.text("envoy-extra-args")
    if '"' in text or "'" in text:
        read.warn("envoy-extra-args", "quotes are passed on; arguments are split at spaces")
    return tuple(text.split())


def _resources(read: _Reader) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for kind, amount in _AMOUNTS:
        name = f"resources.{kind}.{amount}"
        text = read.text(name)
        if PREFIX + name not in read.found:
            continue
        try:
            quantity = Quantity.parse(text)
        except ValueError as error:
            raise _denied(name, str(error)) from None
        if quantity < Quantity(0):
            raise _denied(name, f"{text!r} is negative")
        found.setdefault(kind, {})[amount] = str(quantity)
    return found


def _access_log(read: _Reader) -> str:
    path = read.text("admin.access-log-path")
    return "" if path == "/dev/null" else path


def _shutdown_manager(read: _Reader, defaults: SidecarDefaults) -> ShutdownManager | None:
    enabled = read.defaulted(
        "shutdown-manager.enabled", default=False, read=_switch, what="true or false"
    )
    plain = ShutdownManager(read.text("shutdown-manager.image", defaults.manager_image))
    seconds = f"a number of seconds up to {_LONGEST_DRAIN}"
    manager = ShutdownManager(
        plain.image,
        read.defaulted("shutdown-manager.port", plain.port, _high_port, "a port from 1024 on"),
        read.defaulted("shutdown-manager.drain-time", plain.drain_seconds, _seconds, seconds),
        read.defaulted(
            "shutdown-manager.drain-strategy",
            plain.drain_strategy,
            lambda text: text if text in STRATEGIES else None,
            " or ".join(STRATEGIES),
        ),
        _listed(read.text("shutdown-manager.extra-lifecycle-hooks")),
    )
    if not enabled:
        return None
    if not manager.image:
        raise _denied("shutdown-manager.image", "there is no default image here; name one")
    return manager


def _listed(text: str) -> tuple[str, ...]:
    names = (name.strip() for name in text.split(","))
    return tuple(dict.fromkeys(name for name in names if name))


def _port(text: str, lowest: int = _FIRST_PORT) -> int | None:
    fits = text.isascii() and text.isdigit() and len(text) <= 5
    return int(text) if fits and lowest <= int(text) <= HIGHEST else None


def _high_port(text: str) -> int | None:
    return _port(text, LOWEST)


def _seconds(text: str) -> int | None:
    fits = text.isascii() and text.isdigit() and len(text) <= 5
    return int(text) if fits and 0 < int(text) <= _LONGEST_DRAIN else None


def _switch(text: str) -> bool | None:
    return True if text in _TRUE else False if text in _FALSE else None


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _denied(name: str, why: str, what: str = "is wrong") -> InjectionDenied:
    key = PREFIX + name
    shown = why if len(why) <= _LONGEST_REASON else f"{why[:_LONGEST_REASON]}…"
    return InjectionDenied(f"annotation {key} {what}: {shown}", key)
