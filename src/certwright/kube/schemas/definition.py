"""How a kind of our own presents itself: the declarations behind ``custom_resource``."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

Scope: TypeAlias = Literal["Namespaced", "Cluster"]

ColumnType: TypeAlias = Literal["", "string", "integer", "number", "boolean", "date"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of ``kubectl get``.

    *path* is where the cell is found, such as ``.spec.replicas``; the *type* follows from
    the schema unless given. Columns of *priority* above 0 show with ``-o wide`` only.
    """

    name: str
    path: str
    type: ColumnType = ""
    description: str = ""
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Scale:
    """Where ``kubectl scale`` and autoscalers find the numbers, and the selector of pods."""

    spec_replicas: str = ".spec.replicas"
    status_replicas: str = ".status.replicas"
    selector: str = ""


@dataclass(frozen=True, slots=True)
class Definition:
    """What ``custom_resource`` was told about one version of a kind, beyond its address."""

    singular: str
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    status: bool = True
    scale: Scale | None = None
    selectable_fields: tuple[str, ...] = ()
    served: bool = True
    deprecated: bool | str = False
