"""When an object that cannot be changed is deleted and created anew."""

from dataclasses import dataclass
from typing import Final

from certwright.apply.cluster import Live
from certwright.apply.engine.declared import Declared
from certwright.apply.engine.preserve import becomes_headless
from certwright.apply.refs import ObjectRef
from certwright.client import Propagation
from certwright.kube import Invalid

_CONFIGURATION: Final = frozenset({("v1", "ConfigMap"), ("v1", "Secret")})
_IMMUTABLE: Final = "field is immutable when `immutable` is set"


@dataclass(frozen=True, slots=True)
class Recreation:
    """How an object goes before it comes back."""

    propagation: Propagation | None = None


def recreation(wanted: Declared, live: Live, refusal: Invalid) -> Recreation | None:
    """Decide whether the refusal of an update ends with a new object; None if it does not.

    Without being told so, only where nothing can be lost: immutable configuration, which is a
    value, and a Service that gives up its address, which has no other way. Raises `ValueError` if
    it should, but how its dependents go is not one of the possible ways.
    """
    ref, rules = wanted.ref, wanted.rules
    if not (rules.recreate or _is_harmless(ref, wanted, live, refusal)):
        return None
    if not rules.recreate_propagation:
        return Recreation()
    try:
        return Recreation(Propagation(rules.recreate_propagation))
    except ValueError as error:
        raise ValueError(
            f'invalid deletion propagation policy on object "{ref.id}": '
            f'"{rules.recreate_propagation}" is invalid, '
            f"supported values: [{' '.join(sorted(Propagation))}]"
        ) from error


def _is_harmless(ref: ObjectRef, wanted: Declared, live: Live, refusal: Invalid) -> bool:
    kind = (ref.api_version, ref.kind)
    if kind in _CONFIGURATION:
        return any(
            cause.reason == "FieldValueForbidden" and _IMMUTABLE in cause.message
            for cause in refusal.causes
        )
    return kind == ("v1", "Service") and becomes_headless(live.obj, wanted.obj)
