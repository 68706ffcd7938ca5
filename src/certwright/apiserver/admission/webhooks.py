"""The stored webhook configurations, and which requests they may concern."""

from typing import Final

from certwright.apiserver.access.users import UserInfo
from certwright.apiserver.admission.admission import AdmissionRequest, equivalent_kinds
from certwright.apiserver.admission.attributes import AdmissionAttributes
from certwright.apiserver.admission.configuration import (
    EXEMPT,
    GROUP,
    MUTATING,
    VALIDATING,
    AdmissionWebhook,
    webhooks_of,
)
from certwright.apiserver.backend import Backend
from certwright.apiserver.kinds.kind import ServedKind
from certwright.apiserver.kinds.subresources import subresource_kinds
from certwright.apiserver.storage.storage import Collection
from certwright.kube.objects import GroupVersionKind, GroupVersionResource, JsonObject

_REMEMBERED: Final = 1000
"""Configurations that are not read again, old versions included."""


class StoredWebhooks:
    """Finds the webhooks a request may concern."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._mutating = backend.storage.collection(*MUTATING)
        self._validating = backend.storage.collection(*VALIDATING)
        self._read: dict[tuple[str, int], tuple[AdmissionWebhook, ...]] = {}

    def request(
        self,
        kind: ServedKind,
        place: tuple[str, str, str],
        user: UserInfo,
        options: JsonObject,
        warnings: list[str],
    ) -> AdmissionRequest | None:
        """Return a request for webhooks to judge; None if none of them can be concerned.

        *place* is the namespace, name and subresource in the path, *options* are those of the
        request as a document.
        """
        resource, (namespace, name, subresource) = kind.resource, place
        if resource.group == GROUP and resource.plural in EXEMPT:
            return None
        mutating = self._concerned(self._mutating, resource.plural, subresource)
        validating = self._concerned(self._validating, resource.plural, subresource)
        if not mutating and not validating:
            return None
        if resource.qualified == "namespaces":
            namespace = name
        attributes = AdmissionAttributes(
            "",
            shown_kind(kind, subresource),
            _resource(kind),
            subresource,
            namespace,
            name,
            user,
            options,
            bool(options.get("dryRun")),
            equivalents={
                _resource(other): shown_kind(other, subresource)
                for other in equivalent_kinds(self._backend, kind)
            },
        )
        webhooks = (mutating, validating)
        return AdmissionRequest(self._backend, kind, attributes, webhooks, warnings)

    def _concerned(
        self, collection: Collection, plural: str, subresource: str
    ) -> tuple[AdmissionWebhook, ...]:
        found: list[AdmissionWebhook] = []
        for record in collection.records():
            version = (record.uid, record.revision)
            if version not in self._read:
                if len(self._read) > _REMEMBERED:
                    self._read.clear()
                self._read[version] = tuple(webhooks_of([record.obj]))
            found += [each for each in self._read[version] if each.may_concern(plural, subresource)]
        return tuple(found)


def shown_kind(kind: ServedKind, subresource: str) -> GroupVersionKind:
    """Return the kind of the objects that requests to a resource or a part of it carry."""
    resource = kind.resource
    if subresource:
        for part in subresource_kinds(kind):
            if part.name == subresource and part.group_version:
                return GroupVersionKind.parse(part.group_version, part.kind)
            if part.name == subresource:
                return GroupVersionKind(resource.group, resource.version, part.kind)
    return resource.gvk


def _resource(kind: ServedKind) -> GroupVersionResource:
    resource = kind.resource
    return GroupVersionResource(resource.group, resource.version, resource.plural)
