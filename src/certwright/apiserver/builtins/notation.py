"""Reads the shapes of built-in kinds from the compact notation of ``shapes/``.

::

    == io.k8s.api.apps.v1            a section: the prefix of the definitions that follow
    Deployment kind                  a kind: apiVersion, kind and metadata are implied
      spec DeploymentSpec = {}       a field, its type, and the default the server fills in
    DeploymentSpec
      selector! LabelSelector        ``!`` the field is required
      replicas int32? = 1            ``?`` zero and empty are kept, not left out (a Go pointer)
      command, args [string]         several fields of one type; ``[T]`` list, ``{T}`` map
      env [EnvVar] by name           list with keys, for server-side apply and strategic merge
      claims [ResourceClaim] map name    ... for server-side apply only
      hostIPs [HostIP] patch ip          ... for strategic merge only
      finalizers [string] set merged     a set; strategic merge joins it, too
      nodeSelector {string} atomic       one owner for the whole value (also on a type)
      claimRef ObjectReference granular  ... lifts that of the type
      strategy DeploymentStrategy retain     strategic merge honours ``$retainKeys``
      selector LabelSelector replace     strategic merge replaces the whole value

Names are looked up in the field's own section, then in core/v1, then in meta/v1.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from types import MappingProxyType

import orjson

from certwright.apiserver.schema.schema import ListType, Schema

CORE = "io.k8s.api.core.v1"
META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_EXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"

_SCALARS = {
    "string": Schema("string"),
    "bool": Schema("boolean"),
    "int32": Schema("integer", format="int32"),
    "int64": Schema("integer", format="int64"),
    "double": Schema("number", format="double"),
    "bytes": Schema("string", format="byte"),
    "time": Schema("string", name=f"{META}.Time", format="date-time"),
    "microtime": Schema("string", name=f"{META}.MicroTime", format="date-time"),
    "quantity": Schema(
        "string", name="io.k8s.apimachinery.pkg.api.resource.Quantity", format="quantity"
    ),
    "intorstring": Schema(
        "string",
        name="io.k8s.apimachinery.pkg.util.intstr.IntOrString",
        format="int-or-string",
        int_or_string=True,
    ),
    "FieldsV1": Schema("object", name=f"{META}.FieldsV1", preserve_unknown=True),
    "RawExtension": Schema(
        "object",
        name="io.k8s.apimachinery.pkg.runtime.RawExtension",
        preserve_unknown=True,
        atomic_map=True,
    ),
} | {
    # Values that are a schema or something else: left to the validation of CRDs.
    name: Schema(name=f"{_EXTENSIONS}.{name}", preserve_unknown=True)
    for name in (
        "JSON",
        "JSONSchemaPropsOrArray",
        "JSONSchemaPropsOrBool",
        "JSONSchemaPropsOrStringArray",
    )
}


class NotationError(ValueError):
    """A line of a shapes file cannot be read."""


@dataclass
class _Type:
    """A type as written: its flags and its field lines."""

    section: str
    name: str
    flags: set[str]
    lines: list[str] = field(default_factory=list)


@cache
def definitions() -> Mapping[str, Schema]:
    """Return every definition of ``shapes/`` by its full name, such as io.k8s.api.core.v1.Pod.

    Definitions that refer to each other share nodes, so the trees may be cyclic. They are
    read once and shared by all servers of the process: they are never changed.
    """
    folder = files(__package__).joinpath("shapes")
    lines: list[str] = []
    for file in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if file.name.endswith(".shapes"):
            lines += file.read_text(encoding="utf-8").splitlines()
    return MappingProxyType(read(lines))


def read(lines: Iterable[str]) -> dict[str, Schema]:
    """Build the definitions in *lines*; `NotationError` if one is malformed or a type unknown."""
    types = list(_types(lines))
    nodes = {
        f"{t.section}.{t.name}": Schema(
            "object", name=f"{t.section}.{t.name}", atomic_map="atomic" in t.flags
        )
        for t in types
    }
    # Requirements first: fields copy the node of their type, and copies share its properties.
    parsed = [(t, [_split(line) for line in t.lines]) for t in types]
    for t, fields in parsed:
        required = [name[:-1] for names, *_ in fields for name in names if name.endswith("!")]
        nodes[f"{t.section}.{t.name}"].required = tuple(required)
    for t, fields in parsed:
        properties = nodes[f"{t.section}.{t.name}"].properties
        if t.flags & {"kind", "kind-only"}:
            properties |= {"apiVersion": Schema("string"), "kind": Schema("string")}
        if "kind" in t.flags:
            properties["metadata"] = replace(nodes[f"{META}.ObjectMeta"], default={})
        for names, expression, options, default in fields:
            node = _typed(expression, t.section, nodes)
            _apply_options(node, options)
            if default:
                node.default = _default(default, node)
            for name in names:
                properties[name.removesuffix("!")] = node
    return nodes


def _types(lines: Iterable[str]) -> Iterator[_Type]:
    section, current = "", None
    for line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("== "):
            section = line[3:].strip()
        elif line.startswith("  ") and current:
            current.lines.append(line.strip())
        else:
            if current:
                yield current
            name, *flags = line.split()
            current = _Type(section, name, set(flags))
    if current:
        yield current


def _split(line: str) -> tuple[list[str], str, list[str], str]:
    """Return names, type expression, options and default of a field line."""
    declaration, _, default = line.partition(" = ")
    names: list[str] = []
    words = declaration.split()
    while words:
        name = words.pop(0)
        names.append(name.removesuffix(","))
        if not name.endswith(","):
            break
    if not words:
        raise NotationError(f"{line!r} has no type")
    return names, words[0], words[1:], default


def _typed(expression: str, section: str, nodes: dict[str, Schema]) -> Schema:
    """Return a fresh node for a type expression; its properties are shared with the type's."""
    optional = expression.endswith("?")
    inner = expression.removesuffix("?")
    if inner.startswith("[") and inner.endswith("]"):
        node = Schema("array", items=_typed(inner[1:-1], section, nodes))
    elif inner.startswith("{") and inner.endswith("}"):
        node = Schema("object", additional=_typed(inner[1:-1], section, nodes))
    elif inner in _SCALARS:
        node = replace(_SCALARS[inner])
    else:
        for prefix in (section, CORE, META):
            if found := nodes.get(f"{prefix}.{inner}"):
                node = replace(found)
                break
        else:
            raise NotationError(f"{expression!r} in {section}: no such type")
    node.optional = optional
    return node


def _apply_options(node: Schema, options: list[str]) -> None:
    words = iter(options)
    for word in words:
        if word in {"by", "map", "patch"}:
            keys = tuple(w for w in words if w != "retain")
            node.patch_retain_keys = "retain" in options
            if word != "patch":
                node.list_type, node.list_keys = ListType.MAP, keys
            if word != "map":
                node.patch_merge_key = keys[0]
        elif word == "set":
            node.list_type = ListType.SET
        elif word == "merged":
            node.patch_merge = True
        elif word in {"atomic", "granular"}:
            node.atomic_map = word == "atomic"
        elif word == "retain":
            node.patch_retain_keys = True
        elif word == "replace":
            node.patch_replace = True
        else:
            raise NotationError(f"unknown option {word!r}")


def _default(text: str, node: Schema) -> object:
    if node.type == "string" and not node.int_or_string and text != "null":
        return text.strip('"')
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text  # a text such as 25%, which may stand where a number is allowed, too
