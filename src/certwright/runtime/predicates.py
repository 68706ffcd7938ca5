"""Which changes are worth waking up for: plain functions over the old and the new entry.

*old* is None when the object appeared, *new* is None when it disappeared; both always wake
unless said otherwise. A predicate only saves work: reconciles must be right without it.
"""

from collections.abc import Callable
from typing import TypeAlias

from certwright.kube import LabelSelector
from certwright.runtime.cache.entry import Entry

Predicate: TypeAlias = Callable[[Entry | None, Entry | None], bool]


def generation_changed(old: Entry | None, new: Entry | None) -> bool:
    """Wake when the desired state changed, and sleep through changes of status and metadata.

    Kinds without a generation (ConfigMap, Secret…) always wake.
    """
    if old is None or new is None:
        return True
    return old.meta.generation != new.meta.generation or not new.meta.generation


def labels_changed(old: Entry | None, new: Entry | None) -> bool:
    """Wake when a label was added, changed or removed."""
    return old is None or new is None or old.meta.labels != new.meta.labels


def annotations_changed(old: Entry | None, new: Entry | None) -> bool:
    """Wake when an annotation was added, changed or removed."""
    return old is None or new is None or old.annotations != new.annotations


def any_of(*predicates: Predicate) -> Predicate:
    """Wake when at least one of the predicates does."""
    return lambda old, new: any(predicate(old, new) for predicate in predicates)


def all_of(*predicates: Predicate) -> Predicate:
    """Wake when every one of the predicates does."""
    return lambda old, new: all(predicate(old, new) for predicate in predicates)


def labelled(selector: str) -> Predicate:
    """Wake when the object matches a label selector, or did before the change."""
    wanted = LabelSelector.parse(selector)
    return lambda old, new: any(
        entry is not None and wanted.matches(entry.meta.labels) for entry in (old, new)
    )
