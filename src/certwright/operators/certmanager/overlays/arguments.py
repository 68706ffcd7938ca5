"""The arguments of the containers: defaults of the bundle, fields of the request, flags."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from certwright.operators.certmanager.flags.arguments import Argument, by_name, parse_all
from certwright.operators.certmanager.flags.effective import (
    FEATURE_GATES,
    EffectiveFlags,
    Overrides,
    effective,
)
from certwright.operators.certmanager.flags.table import FlagTables
from certwright.operators.certmanager.overlays.bundlecopy import BundleCopy, ComponentObjects
from certwright.operators.certmanager.overlays.configfile import PATH
from certwright.operators.certmanager.overlays.images import SOLVER_FLAG, solver_image
from certwright.operators.certmanager.request import (
    Component,
    FlagValue,
    InstallRequest,
    Naming,
    TlsProfile,
)

DNS_NAMES: Final = "dynamic-serving-dns-names"
LEADER_NAMESPACE: Final = "leader-election-namespace"
METRICS: Final = "metrics-listen-address"
_SERVING: Final = (
    "dynamic-serving-ca-secret-namespace",
    "dynamic-serving-ca-secret-name",
    DNS_NAMES,
)
_NO_APPROVER: Final = "-certificaterequests-approver"


def arguments(
    copy: BundleCopy, request: InstallRequest, tables: FlagTables
) -> dict[Component, EffectiveFlags]:
    """Set the arguments of all components; return what their flags are."""
    found = {}
    for one in copy.components():
        defaults = [str(arg) for arg in one.container.get("args") or ()]
        if one.component is Component.WEBHOOK and request.webhook.url_host:
            defaults = _with_dns_name(defaults, request.webhook.url_host)
        known = tables.flags(one.component, copy.version)
        derived = _derived(one, request, known, by_name(parse_all(defaults)), copy.version)
        overrides = Overrides({**derived, **_flags(one)}, one.wanted.unvalidated_args)
        flags = effective(one.component, copy.version, defaults, overrides, tables)
        one.container["args"] = list(flags.args)
        found[one.component] = flags
    return found


def _derived(
    one: ComponentObjects,
    request: InstallRequest,
    known: Mapping[str, Any],
    defaults: Mapping[str, tuple[str, ...]],
    version: str,
) -> dict[str, FlagValue]:
    """Return the flags that say what fields of a request say; its own flags override them."""
    flags: dict[str, FlagValue] = {}
    if request.log_level is not None:
        flags["v"] = request.log_level
    namespace = request.leader_election_namespace
    if not namespace and request.naming is Naming.LEGACY:
        namespace = "$(POD_NAMESPACE)"
    if namespace and LEADER_NAMESPACE in known:
        flags[LEADER_NAMESPACE] = namespace
    if request.tls is not None:
        flags.update({name: value for name, value in _tls(request.tls) if name in known})
    if one.wanted.config is not None:
        flags["config"] = PATH
    match one.component:
        case Component.CONTROLLER:
            bundled = defaults.get(SOLVER_FLAG, ("",))[-1]
            if image := solver_image(request.images, version, bundled):
                flags[SOLVER_FLAG] = image
            if request.common_labels and "acme-http01-solver-extra-labels" in known:
                flags["acme-http01-solver-extra-labels"] = request.common_labels
            if not request.auto_approval:
                flags["controllers"] = _NO_APPROVER
        case Component.WEBHOOK:
            flags.update(_of_webhook(one.wanted.config or {}, request))
    if not request.metrics and one.component is not Component.CONTROLLER and METRICS in known:
        flags[METRICS] = "0"
    return flags


def _of_webhook(config: Mapping[str, Any], request: InstallRequest) -> dict[str, FlagValue]:
    """Return the flags of the webhook; a default would override what its file says."""
    flags: dict[str, FlagValue] = {}
    if config.get("securePort"):
        flags["secure-port"] = None
    if request.webhook.secure_port is not None:
        flags["secure-port"] = request.webhook.secure_port
    tls = config.get("tlsConfig")
    if isinstance(tls, Mapping) and (tls.get("dynamic") or tls.get("filesystem")):
        flags.update(dict.fromkeys(_SERVING))
    return flags


def _tls(profile: TlsProfile) -> list[tuple[str, FlagValue]]:
    pairs: list[tuple[str, FlagValue]] = []
    for prefix in ("tls", "metrics-tls"):
        if profile.min_version:
            pairs.append((f"{prefix}-min-version", profile.min_version))
        if profile.cipher_suites:
            pairs.append((f"{prefix}-cipher-suites", list(profile.cipher_suites)))
    return pairs


def _flags(one: ComponentObjects) -> dict[str, FlagValue]:
    """Return the flags of a request, its feature gates among them."""
    flags = dict(one.wanted.flags)
    if one.wanted.feature_gates:
        gates: dict[str, FlagValue] = dict(one.wanted.feature_gates)
        given = flags.get(FEATURE_GATES)
        if isinstance(given, Mapping):
            gates.update(given)
        elif given is not None:
            items = given.split(",") if isinstance(given, str) else given
            pairs = items if isinstance(items, Sequence) else [items]
            gates.update((name, value) for name, _, value in map(_pair, pairs) if name)
        flags[FEATURE_GATES] = gates
    return flags


def _pair(item: object) -> tuple[str, str, str]:
    return str(item).partition("=")


def _with_dns_name(args: Sequence[str], host: str) -> list[str]:
    """Add a name that the webhook's certificate is valid for, as the bundle writes them."""
    listed = [place for place, arg in enumerate(args) if Argument.parse(arg).name == DNS_NAMES]
    if not listed:
        return [*args]
    last = listed[-1]
    if len(listed) == 1 and "," in args[last]:
        return [*args[:last], f"{args[last]},{host}", *args[last + 1 :]]
    return [*args[: last + 1], f"--{DNS_NAMES}={host}", *args[last + 1 :]]
