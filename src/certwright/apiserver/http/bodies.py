"""Reading request bodies: JSON, or YAML where the API accepts it; bounded in size and depth."""

import re
from collections.abc import Iterable
from typing import Any, ClassVar

import orjson
import yaml

from certwright.apiserver.gotext import json_type
from certwright.apiserver.http.media import body_media_type
from certwright.kube.errors import BadRequest, RequestTooLarge, UnsupportedMediaType
from certwright.kube.objects import JsonObject
from certwright.kube.rawjson import MAX_DEPTH, is_deep

SIZE_LIMIT = 3 * 1024 * 1024
DEPTH_EXCEEDED = "exceeded max depth"
"""What servers say about bodies that are nested too deeply: the real one over 10,000 levels."""

_SUMMARY = 30
_JSON = "application/json"
_YAML = {"application/yaml", "application/apply-patch+yaml"}


def check_size(body: bytes) -> None:
    """Refuse a body larger than etcd and the API server take."""
    if len(body) > SIZE_LIMIT:
        raise RequestTooLarge(f"Request entity too large: limit is {SIZE_LIMIT}")


def parse_object(body: bytes | None, content_type: str, kind: str = "") -> JsonObject:
    """Read a body that must hold one object; *kind* says in refusals what was expected."""
    media_type = body_media_type(content_type)
    if media_type != _JSON and media_type not in _YAML:
        raise UnsupportedMediaType(
            "the body of the request was in an unknown format - accepted media types include: "
            "application/json, application/yaml, application/vnd.kubernetes.protobuf"
        )
    body = body or b""
    failure = "couldn't get version/kind; json parse error"
    try:
        value = parse_yaml(body) if media_type in _YAML else parse_json(body, failure)
    except BadRequest as error:
        raise unrecognized(kind, error.message, body) from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        why = (
            f"json: cannot unmarshal {json_type(value)} into Go value of type struct "
            '{ APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string '
            '"json:\\"kind,omitempty\\"" }'
        )
        raise unrecognized(kind, f"{failure}: {why}", body)
    for part in ("apiVersion", "kind"):
        if not isinstance(value.get(part, ""), str | None):
            found = f"{json_type(value[part])} into Go struct field .{part} of type string"
            raise unrecognized(kind, f"{failure}: json: cannot unmarshal {found}", body)
    return value


def unrecognized(kind: str, why: str, body: bytes) -> BadRequest:
    """Refuse a body that is no object of any kind; without an expected kind, just say why."""
    if not kind:
        return BadRequest(why)
    return BadRequest(
        f"the object provided is unrecognized (must be of type {kind}): {why} ({_summary(body)})"
    )


def _summary(body: bytes) -> str:
    """Return the beginning of a body as refusals quote it: text if it looks like JSON."""
    if not body:
        return "<empty>"
    start = body[:_SUMMARY]
    shown = start.decode(errors="replace") if start.startswith(b"{") else start.hex()
    return f"{shown} ..." if len(body) > _SUMMARY else shown


def parse_json(body: bytes, failure: str) -> Any:
    """Read JSON of any shape; a refusal begins with *failure*."""
    check_size(body)
    if not body:
        raise BadRequest(f"{failure}: unexpected end of JSON input")
    if is_deep(body):
        raise BadRequest(f"{failure}: {DEPTH_EXCEEDED}")
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        text = body.decode(errors="replace")
        if "\N{REPLACEMENT CHARACTER}" in text and text.encode() != body:
            return parse_json(text.encode(), failure)  # as Go reads what is not UTF-8
        why = "unexpected end of JSON input" if error.pos >= len(text) else str(error)
        raise BadRequest(f"{failure}: {why}") from None


def parse_yaml(body: bytes) -> Any:
    """Read YAML; most clients send its JSON subset, which is tried first."""
    check_size(body)
    try:
        value = orjson.loads(body)
        deep = is_deep(body)
    except orjson.JSONDecodeError:
        try:
            value = yaml.load(body, Loader=_Loader)  # noqa: S506  # a SafeLoader without dates
            deep = _is_deep_value(value)
        except RecursionError:
            deep = True
        except yaml.YAMLError as error:
            raise BadRequest(f"error decoding YAML: {error}") from None
    if deep:
        raise BadRequest(f"error decoding YAML: {DEPTH_EXCEEDED}")
    return value


def _is_deep_value(value: Any) -> bool:
    """Return whether a value is nested too deeply; aliases may show one part at many places."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        parts = {id(part): part for outer in level for part in _parts(outer)}
        level = [*parts.values()]
        if not level:
            return False
    return True


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


class _Loader(yaml.SafeLoader):
    """YAML as the API server reads it: timestamps stay strings, and so do all keys."""

    bool_values: ClassVar = {**yaml.SafeLoader.bool_values, "y": True, "n": False}

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002  # as inherited
        self.flatten_mapping(node)
        found = {}
        for key_node, value_node in node.value:
            key = self.construct_object(key_node, deep=True)
            key = key if isinstance(key, str) else orjson.dumps(key).decode()
            found[key] = self.construct_object(value_node, deep=deep)
        return found


_Loader.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^[yYnN]$"), list("yYnN"))
