"""ClusterRoles made of others: their rules are collected by label."""

from certwright.apiserver.backend import Backend
from certwright.apiserver.fields import manager as fieldmanager
from certwright.apiserver.storage.storage import StoredChange, StoredRecord
from certwright.kube.objects import JsonObject
from certwright.kube.selectors import LabelSelector

_ROLES = ("rbac.authorization.k8s.io", "clusterroles")


class RoleAggregation:
    """Keeps aggregated ClusterRoles up to date; part of the server's background."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def concerns(self, change: StoredChange) -> bool:
        """Return whether a change may alter what aggregated roles allow."""
        resource = change.record.kind.resource
        return (resource.group, resource.plural) == _ROLES

    def sync(self) -> None:
        """Write the rules of every aggregated role anew where they differ."""
        collection = self._backend.storage.collection(*_ROLES)
        for record in list(collection.records()):
            rule = record.obj.get("aggregationRule")
            if not rule:
                continue
            rules = self._collected(rule, record.name)
            if rules != (record.obj.get("rules") or []):
                obj = self._applied(record, rules)
                self._backend.storage.put(collection, record.key, record.kind, obj)

    def _applied(self, record: StoredRecord, rules: list[JsonObject]) -> JsonObject:
        """Return a role with other rules, which belong to the one who collects them."""
        resource = record.kind.resource
        wanted = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {"name": record.name},
            "rules": rules,
        }
        return fieldmanager.apply(
            record.copy(),
            wanted,
            kind=record.kind,
            manager="clusterrole-aggregation-controller",
            force=True,
            time=self._backend.now(),
        )

    def _collected(self, aggregation: JsonObject, own_name: str) -> list[JsonObject]:
        selectors = [
            LabelSelector.from_spec(spec) for spec in aggregation.get("clusterRoleSelectors") or ()
        ]
        rules: list[JsonObject] = []
        for selector in selectors:
            for record in self._backend.storage.collection(*_ROLES).records():
                labels = record.metadata.get("labels") or {}
                if record.name == own_name or not selector.matches(labels):
                    continue
                rules += [rule for rule in record.obj.get("rules") or () if rule not in rules]
        return rules
