"""Telling clients what is served: legacy discovery, aggregated discovery, version, health."""

from collections.abc import Iterable
from typing import Any, Final

import orjson

from certwright.apiserver.http.media import media_ranges
from certwright.apiserver.http.request import lower_headers
from certwright.apiserver.http.responses import json_response, text_response
from certwright.apiserver.kinds.kind import ServedKind
from certwright.apiserver.kinds.subresources import SubresourceKind, subresource_kinds
from certwright.apiserver.refusals import KindNotServed, PathNotServed
from certwright.apiserver.storage.registry import Registry
from certwright.client.transport import Request, Response
from certwright.kube.names import version_order
from certwright.kube.objects import JsonObject

VERSION: Final = {
    "major": "1",
    "minor": "36",
    "emulationMajor": "1",
    "emulationMinor": "36",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "35",
    "gitVersion": "v1.36.3",
    "gitCommit": "0000000000000000000000000000000000000000",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "go1.26",
    "compiler": "gc",
    "platform": "linux/amd64",
}
_GROUPS: Final = (
    "", "apiregistration.k8s.io", "apps", "events.k8s.io", "authentication.k8s.io",
    "authorization.k8s.io", "autoscaling", "batch", "certificates.k8s.io", "networking.k8s.io",
    "policy", "rbac.authorization.k8s.io", "storage.k8s.io", "admissionregistration.k8s.io",
    "apiextensions.k8s.io", "scheduling.k8s.io", "coordination.k8s.io", "node.k8s.io",
    "discovery.k8s.io",
)  # fmt: skip
_AGGREGATED: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_CUSTOM_VERBS: Final = (
    "delete", "deletecollection", "get", "list", "patch", "create", "update", "watch",
)  # fmt: skip
"""In the order in which custom resources are listed."""
_HEALTH: Final = frozenset({"/healthz", "/livez", "/readyz", "/livez/ping", "/readyz/ping"})
_DOCUMENTS: Final[dict[tuple[int, ...], tuple[tuple[ServedKind, ...], bytes]]] = {}
"""Documents by the identities of their kinds, which they keep alive: simulations start thousands
of servers."""
_DOCUMENTS_LIMIT: Final = 64


class GroupDiscovery:
    """Answers requests to paths that are no resources."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def answer(self, request: Request) -> Response:
        """Answer a discovery, version or health request; `PathNotServed` if it is none."""
        path = request.path.rstrip("/") or "/"
        if path in _HEALTH:
            return text_response(200, b"ok")
        if path in {"/api", "/apis"} and _wants_aggregated(request):
            document = self._aggregated(core=path == "/api")
            return json_response(200, document, headers={"content-type": _AGGREGATED})
        return json_response(200, orjson.dumps(self._document(path)))

    def _document(self, path: str) -> JsonObject:
        parts = path.strip("/").split("/")
        match parts:
            case ["version"]:
                return dict(VERSION)
            case [""]:
                return {"paths": self._paths()}
            case ["api"]:
                return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
            case ["apis"]:
                groups = [self._group(name) for name in self._groups() if name]
                return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
            case ["apis", group] if group in self._groups():
                return {"kind": "APIGroup", "apiVersion": "v1", **self._group(group)}
            case ["api", version] if self._registry.has_group_version("", version):
                return self._resources("", version)
            case ["apis", group, version] if self._registry.has_group_version(group, version):
                return self._resources(group, version)
            case ["api", _]:
                raise KindNotServed
            case ["apis", group, _] if group in self._groups():
                raise KindNotServed
        raise PathNotServed("404 page not found")

    def _paths(self) -> list[str]:
        served = {f"/apis/{kind.resource.group}" for kind in self._registry if kind.resource.group}
        versions = {
            f"/apis/{kind.resource.api_version}" for kind in self._registry if kind.resource.group
        }
        return sorted({"/api", "/api/v1", "/apis", "/version", *_HEALTH} | served | versions)

    def _groups(self) -> dict[str, list[str]]:
        """Return the versions of every group, the most important group first."""
        groups: dict[str, dict[str, None]] = {}
        for kind in self._registry:
            resource = kind.resource
            groups.setdefault(resource.group, {})[resource.version] = None
        return {
            group: sorted(groups[group], key=version_order)
            for group in sorted(groups, key=_group_priority)
        }

    def _group(self, name: str) -> JsonObject:
        versions = [
            {"groupVersion": f"{name}/{version}", "version": version}
            for version in self._groups()[name]
        ]
        return {"name": name, "versions": versions, "preferredVersion": versions[0]}

    def _kinds(self, group: str, version: str) -> list[ServedKind]:
        found = [
            kind
            for kind in self._registry
            if (kind.resource.group, kind.resource.version) == (group, version)
        ]
        return sorted(found, key=lambda kind: kind.resource.plural)

    def _resources(self, group: str, version: str) -> JsonObject:
        group_version = f"{group}/{version}" if group else version
        resources: list[JsonObject] = []
        for kind in self._kinds(group, version):
            resources.append(_legacy(kind))
            parts = subresource_kinds(kind)
            if kind.custom:  # status before scale
                parts.reverse()
            resources += [_legacy_subresource(kind, sub) for sub in parts]
        return {
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": group_version,
            "resources": resources,
        }

    def _aggregated(self, *, core: bool) -> bytes:
        """Return the core group, or all others; encoded once for all servers of the same kinds."""
        kinds = tuple(kind for kind in self._registry if (kind.resource.group == "") is core)
        # Of the core group each server may have kinds of its own, which differ in no name.
        told: Iterable[object] = (kind.resource for kind in kinds) if core else kinds
        key = (core, *map(id, told))
        known = _DOCUMENTS.get(key)
        if known is None:
            known = (kinds, self._encode_groups(core=core))
            if len(_DOCUMENTS) >= _DOCUMENTS_LIMIT:
                _DOCUMENTS.clear()
            _DOCUMENTS[key] = known
        return known[1]

    def _encode_groups(self, *, core: bool) -> bytes:
        items = []
        for group, versions in self._groups().items():
            if (group == "") is not core:
                continue
            items.append(
                {
                    "metadata": {"name": group} if group else {},
                    "versions": [
                        {
                            "version": version,
                            "resources": [_aggregated(k) for k in self._kinds(group, version)],
                            "freshness": "Current",
                        }
                        for version in versions
                    ],
                }
            )
        document = {
            "kind": "APIGroupDiscoveryList",
            "apiVersion": "apidiscovery.k8s.io/v2",
            "metadata": {},
            "items": items,
        }
        return orjson.dumps(document)


def _wants_aggregated(request: Request) -> bool:
    for media in media_ranges(lower_headers(request).get("accept", "")):
        if media.type != "application/json":
            continue
        if media.parameters.get("as") is None:
            return False
        if media.parameters.get("g") == "apidiscovery.k8s.io" and media.parameters.get("v") == "v2":
            return True
    return False


def _group_priority(group: str) -> tuple[int, str]:
    """Order groups as kube-apiserver does; those of custom resources come last, by name."""
    return (_GROUPS.index(group), "") if group in _GROUPS else (len(_GROUPS), group)


def _legacy(kind: ServedKind) -> JsonObject:
    resource = kind.resource
    entry: JsonObject = {
        "name": resource.plural,
        "singularName": kind.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": _CUSTOM_VERBS if kind.custom else sorted(kind.verbs),
    }
    return {**entry, **_names(kind)}


def _legacy_subresource(kind: ServedKind, sub: SubresourceKind) -> JsonObject:
    entry: JsonObject = {
        "name": f"{kind.resource.plural}/{sub.name}",
        "singularName": "",
        "namespaced": kind.resource.namespaced,
    }
    if sub.group_version:
        group, _, version = sub.group_version.rpartition("/")
        entry |= {"group": group, "version": version}
    return {**entry, "kind": sub.kind, "verbs": sorted(sub.verbs)}


def _aggregated(kind: ServedKind) -> JsonObject:
    resource = kind.resource
    entry: JsonObject = {
        "resource": resource.plural,
        "responseKind": _response_kind(kind, SubresourceKind("", resource.kind)),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": sorted(kind.verbs),
        **_names(kind),
    }
    subresources = [
        {
            "subresource": sub.name,
            "responseKind": _response_kind(kind, sub),
            "verbs": sorted(sub.verbs),
        }
        for sub in subresource_kinds(kind)
    ]
    return {**entry, "subresources": subresources} if subresources else entry


def _response_kind(kind: ServedKind, sub: SubresourceKind) -> JsonObject:
    if not sub.group_version:
        # Built-in kinds leave out what the list around them says.
        own = (kind.resource.group, kind.resource.version) if kind.custom else ("", "")
        return _gvk(*own, sub.kind)
    group, _, version = sub.group_version.rpartition("/")
    return _gvk(group, version, sub.kind)


def _names(kind: ServedKind) -> dict[str, Any]:
    names: dict[str, Iterable[str]] = {}
    if kind.short_names:
        names["shortNames"] = kind.short_names
    if kind.categories:
        names["categories"] = kind.categories
    return names


def _gvk(group: str, version: str, kind: str) -> JsonObject:
    return {"group": group, "version": version, "kind": kind}
