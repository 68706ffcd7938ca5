"""The free-form parts of a request: what does not have the shape they need is left out, and said.

Their contents are the business of the API server; that they can be worked with is checked here, so
that a mistake in one of them is a problem of one component and no error of the program.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import msgspec

from certwright.kube import JsonObject
from certwright.operators.certmanager.request import (
    Component,
    ComponentRequest,
    InstallRequest,
    Problem,
    Reason,
)


class _Strict(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    pass


class _Account(_Strict, frozen=True):
    create: bool = True
    name: str = ""
    annotations: dict[str, str] | None = None
    labels: dict[str, str] | None = None
    automount_service_account_token: bool | None = None


class _Budget(_Strict, frozen=True):
    min_available: int | str = 1
    max_unavailable: int | str = 1
    unhealthy_pod_eviction_policy: str = ""


class _NetworkPolicy(_Strict, frozen=True):
    ingress: list[JsonObject] = []
    egress: list[JsonObject] = []


class _Alerts(_Strict, frozen=True):
    namespace: str = ""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class _Monitor(_Alerts, frozen=True):
    prometheus_instance: str = ""
    interval: str = ""
    scrape_timeout: str = ""
    path: str = ""
    target_port: int | str = ""
    honor_labels: bool = False
    endpoint_additional_properties: JsonObject | None = None


class _Named(msgspec.Struct, frozen=True):
    name: str


class _Serving(msgspec.Struct, rename="camel", frozen=True):
    secret_name: str = ""
    secret_namespace: str = ""


class _Tls(msgspec.Struct, frozen=True):
    dynamic: _Serving | None = None
    filesystem: JsonObject | None = None


class _Config(msgspec.Struct, frozen=True):
    securePort: int = 0  # noqa: N815 - not renamed: metricsTLSConfig is no camel case
    healthzPort: int = 0  # noqa: N815
    tlsConfig: _Tls | None = None  # noqa: N815
    metricsTLSConfig: _Tls | None = None  # noqa: N815


_OF_COMPONENTS: Final[Mapping[str, Any]] = {
    "env": list[_Named],
    "volumes": list[_Named],
    "volume_mounts": list[_Named],
    "extra_containers": list[_Named],
    "config": _Config,
    "service_account": _Account,
    "pod_disruption_budget": _Budget,
    "network_policy": _NetworkPolicy,
}
_OF_ALL: Final[Mapping[str, Any]] = {
    "service_monitor": _Monitor,
    "pod_monitor": _Monitor,
    "alerts": _Alerts,
}
_EMPTY: Final = {"env": (), "volumes": (), "volume_mounts": (), "extra_containers": ()}


def sound(request: InstallRequest) -> tuple[InstallRequest, list[Problem], list[Problem]]:
    """Return a request without what cannot be worked with.

    With it come the problems of components, and those that no component has to wait for.
    """
    components: dict[Component, ComponentRequest] = {}
    problems: list[Problem] = []
    for component, wanted in request.components.items():
        wrong = dict(_wrong(wanted, _OF_COMPONENTS))
        problems += [_problem(component, *found) for found in wrong.items()]
        left_out: dict[str, Any] = {name: _EMPTY.get(name) for name in wrong}
        components[component] = replace(wanted, **left_out) if wrong else wanted
    wrong = dict(_wrong(request, _OF_ALL))
    harmless = [_problem(None, *found) for found in wrong.items()]
    left_out = dict.fromkeys(wrong)
    return replace(request, components=components, **left_out), problems, harmless


def _wrong(request: object, shapes: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, shape in shapes.items():
        value = getattr(request, name)
        if value is None or (isinstance(value, Sequence) and not value):
            continue
        try:
            msgspec.convert(value, shape)
        except msgspec.ValidationError as error:
            yield name, str(error)


def _problem(component: Component | None, name: str, what: str) -> Problem:
    first, *others = name.split("_")
    field = first + "".join(part.capitalize() for part in others)
    where = f" of {component}" if component else ""
    return Problem(Reason.INVALID_OVERRIDE, component, f"{field}{where}: {what}", field)
