"""ClusterRoles made of others: their rules are collected by label."""

from certwright.kube.objects import JsonObject
from certwright.kube.selectors import LabelSelector
from certwright.testkit.apiserver.backend import Backend
from certwright.testkit.apiserver.storage import Change

_ROLES = ("rbac.authorization.k8s.io", "clusterroles")


class RoleAggregation:
    """Keeps aggregated ClusterRoles up to date; part of the server's background."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def concerns(self, change: Change) -> bool:
        """Whether a change may alter what aggregated roles allow."""
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
                obj = {**record.copy(), "rules": rules}
                self._backend.storage.put(collection, record.key, record.kind, obj)

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
