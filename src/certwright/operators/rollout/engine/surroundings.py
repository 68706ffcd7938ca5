"""What besides workloads and sources decides about restarts: disruption budgets and namespaces."""

from collections.abc import Callable
from typing import Final

from certwright.kube import JsonObject, Key, LabelSelector
from certwright.kube.kinds import Namespace, PodDisruptionBudget
from certwright.operators.rollout.policy import NamespaceFacts
from certwright.operators.rollout.references import at
from certwright.operators.rollout.workload import Workload
from certwright.runtime import Cache, Entry, KeepFields, StoreHandle

_BUDGET: Final = KeepFields("/spec/selector", "/status/disruptionsAllowed")
_EXHAUSTED: Final = "exhausted"
"""The index from a namespace to the budgets that allow no disruption."""


class RolloutSurroundings:
    """Budgets and namespaces, as far as they are watched.

    *namespace* is the one that counts, all if empty. *relabelled* is called with a namespace whose
    labels changed, *budgeted* with one in which a budget did.
    """

    def __init__(
        self,
        cache: Cache,
        namespace: str,
        relabelled: Callable[[str], None],
        budgeted: Callable[[str], None],
    ) -> None:
        self._cache = cache
        self._namespace = namespace
        self._relabelled = relabelled
        self._budgeted = budgeted
        self._budgets: StoreHandle | None = None
        self._namespaces: StoreHandle | None = None

    def watch_budgets(self) -> None:
        """Watch PodDisruptionBudgets; where that is not allowed, restarts do without."""
        self._budgets = self._cache.store(
            PodDisruptionBudget,
            namespace=self._namespace,
            transform=_BUDGET,
            indexes={_EXHAUSTED: _exhausted_in},
            required=False,
        )
        self._budgets.listen(self._budget_changed)

    def watch_namespaces(self) -> None:
        """Watch the labels of namespaces."""
        fields = f"metadata.name={self._namespace}" if self._namespace else ""
        self._namespaces = self._cache.store(Namespace, fields=fields, metadata_only=True)
        self._namespaces.listen(self._namespace_changed)

    async def ready(self) -> None:
        """Return as soon as the namespaces are known."""
        if self._namespaces is not None:
            await self._namespaces.synced()

    def namespace(self, name: str) -> NamespaceFacts:
        """Return what is known about a namespace."""
        entry = None if self._namespaces is None else self._namespaces.store.get(Key("", name))
        return NamespaceFacts(name, {} if entry is None else entry.meta.labels)

    def forbidding_budget(self, workload: Workload) -> str:
        """Return the name of a budget over the pods of a workload that allows no disruption."""
        if self._budgets is None or not self._budgets.store.synced:
            return ""
        for entry in self._budgets.store.by_index(_EXHAUSTED, workload.ref.key.namespace):
            if forbids(entry.obj(), workload):
                return entry.key.name
        return ""

    def _budget_changed(self, old: Entry | None, new: Entry | None) -> None:
        if (entry := new or old) is not None and (old is None or new is None or old.raw != new.raw):
            self._budgeted(entry.key.namespace)

    def _namespace_changed(self, old: Entry | None, new: Entry | None) -> None:
        if old is not None and new is not None and old.meta.labels != new.meta.labels:
            self._relabelled(new.key.name)


def forbids(budget: JsonObject, workload: Workload) -> bool:
    """Return whether a budget over the pods of a workload allows no disruption."""
    return _is_exhausted(budget) and _selects(at(budget, "spec", "selector"), workload)


def _is_exhausted(budget: JsonObject) -> bool:
    allowed = at(budget, "status", "disruptionsAllowed")  # none until it is first judged
    return bool(allowed == 0)


def _exhausted_in(entry: Entry) -> list[str]:
    return [entry.key.namespace] if _is_exhausted(entry.obj()) else []


def _selects(selector: object, workload: Workload) -> bool:
    if not isinstance(selector, dict):
        return False
    try:
        return LabelSelector.from_spec(selector).matches(workload.template_labels)
    except (ValueError, TypeError):
        return False
