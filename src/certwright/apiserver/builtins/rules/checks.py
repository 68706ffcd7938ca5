"""Small field checks the rules of built-in kinds are made of.

Every function returns the causes it finds; paths are spelled as the API server spells them.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from certwright.apiserver.causes import (
    forbidden_value,
    invalid_value,
    required,
    too_long,
    unsupported_value,
)
from certwright.kube.errors import Cause
from certwright.kube.names import (
    dns_label_problems,
    dns_subdomain_problems,
    label_value_problems,
    qualified_name_problems,
)
from certwright.kube.objects import JsonObject

PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
MEBIBYTE: Final = 1024 * 1024

_ANNOTATIONS_LIMIT: Final = 256 * 1024
_NEGATIVE = "must be greater than or equal to 0"
_PERCENT = re.compile(r"[0-9]+%")
_KEY = re.compile(r"[-._a-zA-Z0-9]+")
_PORT_NAME = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])*")


def immutable(new: Any, old: Any, path: str) -> list[Cause]:
    """Check that a field does not change."""
    return [] if new == old else [invalid_value(path, new, "field is immutable")]


def non_negative(value: int | None, path: str) -> list[Cause]:
    """Check that a number is not below zero."""
    return [invalid_value(path, value, _NEGATIVE)] if value is not None and value < 0 else []


def all_non_negative(obj: JsonObject, fields: Iterable[str], path: str) -> list[Cause]:
    """Check that numbers in an object are not below zero."""
    found = [non_negative(obj.get(field), f"{path}.{field}") for field in fields]
    return [cause for causes in found for cause in causes]


def one_of(value: str | None, choices: Iterable[str], path: str) -> list[Cause]:
    """Check that a field is absent or holds one of the choices."""
    allowed = list(choices)
    return [] if value is None or value in allowed else [unsupported_value(path, value, allowed)]


def label_name(value: str, path: str) -> list[Cause]:
    """Check that a field holds a DNS label."""
    return [invalid_value(path, value, problem) for problem in dns_label_problems(value)]


def subdomain_name(value: str, path: str) -> list[Cause]:
    """Check that a field holds a DNS subdomain."""
    return [invalid_value(path, value, problem) for problem in dns_subdomain_problems(value)]


def qualified_name(value: str, path: str) -> list[Cause]:
    """Check that a field holds a name with an optional prefix."""
    return [invalid_value(path, value, problem) for problem in qualified_name_problems(value)]


def port_number(value: int, path: str) -> list[Cause]:
    """Check that a field holds a port."""
    if 1 <= value <= 65535:
        return []
    return [invalid_value(path, value, "must be between 1 and 65535, inclusive")]


def port_name(value: str, path: str) -> list[Cause]:
    """Check that a field holds an IANA service name."""
    problems = []
    if len(value) > 15:
        problems.append("must be no more than 15 characters")
    if not _PORT_NAME.fullmatch(value) and value:
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not any(char.isalpha() for char in value):
        problems.append("must contain at least one letter (a-z)")
    if "--" in value:
        problems.append("must not contain consecutive hyphens")
    return [invalid_value(path, value, problem) for problem in problems]


def port_or_name(value: int | str, path: str) -> list[Cause]:
    """Check that a field holds a port or the name of one."""
    if isinstance(value, int):
        return port_number(value, path)
    return port_name(value, path)


def int_or_percent(value: int | str | None, path: str) -> list[Cause]:
    """Check that a field holds a non-negative number or a percentage."""
    if value is None:
        return []
    if isinstance(value, int):
        return non_negative(value, path)
    if _PERCENT.fullmatch(value):
        return []
    why = (
        "a valid percent string must be a numeric string followed by an ending '%' "
        "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
    )
    return [invalid_value(path, value, why)]


def is_zero(value: int | str | None) -> bool:
    """Return whether a number or percentage amounts to nothing."""
    return value in {0, "0%", None}


def at_most_all(value: int | str | None, path: str) -> list[Cause]:
    """Check that a percentage does not exceed 100."""
    if isinstance(value, str) and _PERCENT.fullmatch(value) and int(value[:-1]) > 100:
        return [invalid_value(path, value, "must not be greater than 100%")]
    return []


def data_keys(data: Mapping[str, str], path: str) -> list[Cause]:
    """Check that the keys of a ConfigMap or Secret can be file names."""
    causes: list[Cause] = []
    for key in data:
        where = f"{path}[{key}]"
        if len(key) > 253:
            causes.append(invalid_value(where, key, "must be no more than 253 characters"))
        if not _KEY.fullmatch(key):
            why = (
                "a valid config key must consist of alphanumeric characters, '-', '_' or '.' "
                "(e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is "
                "'[-._a-zA-Z0-9]+')"
            )
            causes.append(invalid_value(where, key, why))
        if key in {".", ".."}:
            causes.append(invalid_value(where, key, f"must not be '{key}'"))
        elif key.startswith(".."):
            causes.append(invalid_value(where, key, "must not start with '..'"))
    return causes


def at_most_a_mebibyte(size: int, path: str) -> list[Cause]:
    """Check that the contents fit into one object."""
    return [too_long(path, MEBIBYTE)] if size > MEBIBYTE else []


def frozen_when_immutable(
    new: JsonObject, old: JsonObject | None, fields: Iterable[str]
) -> list[Cause]:
    """Check that an object with ``immutable`` set keeps it and its contents."""
    if old is None or not old.get("immutable"):
        return []
    why = "field is immutable when `immutable` is set"
    causes = [] if new.get("immutable") else [forbidden_value("immutable", why)]
    changed = [field for field in fields if (new.get(field) or {}) != (old.get(field) or {})]
    return causes + [forbidden_value(field, why) for field in changed]


def label_value(value: str, path: str) -> list[Cause]:
    """Check that a field holds the value of a label."""
    return [invalid_value(path, value, problem) for problem in label_value_problems(value)]


def label_causes(labels: Mapping[str, str], path: str) -> list[Cause]:
    """Return which labels have keys or values that are none."""
    causes: list[Cause] = []
    for key, value in labels.items():
        causes += qualified_name(key, path)
        causes += label_value(value, path)
    return causes


def annotation_causes(annotations: Mapping[str, str], path: str) -> list[Cause]:
    """Return which annotations have keys that are none, and whether they are too large."""
    causes: list[Cause] = []
    size = 0
    for key, value in annotations.items():
        size += len(key.encode()) + len(value.encode())
        causes += [
            invalid_value(path, key, problem) for problem in qualified_name_problems(key.lower())
        ]
    if size > _ANNOTATIONS_LIMIT:
        causes.append(too_long(path, _ANNOTATIONS_LIMIT))
    return causes


def selector_causes(selector: JsonObject | None, path: str) -> list[Cause]:
    """Check that a label selector is well-formed."""
    labels = (selector or {}).get("matchLabels") or {}
    causes = label_causes(labels, f"{path}.matchLabels")
    for index, term in enumerate((selector or {}).get("matchExpressions") or ()):
        causes += _expression_causes(term, f"{path}.matchExpressions[{index}]")
    return causes


def _expression_causes(term: JsonObject, path: str) -> list[Cause]:
    operator, values = term.get("operator") or "", term.get("values") or []
    causes: list[Cause] = []
    if operator in {"In", "NotIn"}:
        if not values:
            why = "must be specified when `operator` is 'In' or 'NotIn'"
            causes.append(required(f"{path}.values", why))
    elif operator in {"Exists", "DoesNotExist"}:
        if values:
            why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            causes.append(forbidden_value(f"{path}.values", why))
    else:
        why = "not a valid selector operator"
        causes.append(invalid_value(f"{path}.operator", operator, why))
    causes += qualified_name(term.get("key") or "", f"{path}.key")
    for index, value in enumerate(values):
        causes += label_value(value, f"{path}.values[{index}]")
    return causes


NameRule = Callable[[str], list[str]]


def path_segment_problems(name: str) -> list[str]:
    """Return why a name cannot be part of a URL path: the rule of RBAC objects."""
    if name in {".", ".."}:
        return [f"may not be '{name}'"]
    return [f"may not contain '{bad}'" for bad in "/%" if bad in name]


_NAME_RULES: Final[dict[str, NameRule]] = {
    "Namespace": dns_label_problems,
    "Service": dns_label_problems,
    "Role": path_segment_problems,
    "ClusterRole": path_segment_problems,
    "RoleBinding": path_segment_problems,
    "ClusterRoleBinding": path_segment_problems,
    "APIService": path_segment_problems,
}
"""Kinds whose names are not DNS subdomains."""


def name_causes(kind: str, metadata: JsonObject) -> list[Cause]:
    """Check that the name of an object, or its prefix, suits its kind."""
    rule = _NAME_RULES.get(kind, dns_subdomain_problems)
    causes: list[Cause] = []
    prefix = metadata.get("generateName") or ""
    if prefix:
        # A trailing dash is fine in a prefix: the generated suffix follows it.
        probe = f"{prefix[:-1]}a" if prefix.endswith("-") and len(prefix) > 1 else prefix
        causes += [invalid_value("metadata.generateName", prefix, p) for p in rule(probe)]
    name = metadata.get("name") or ""
    if name:
        causes += [invalid_value("metadata.name", name, problem) for problem in rule(name)]
    return causes
