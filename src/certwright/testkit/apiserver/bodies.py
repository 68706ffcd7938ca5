"""Reading request bodies: JSON, or YAML where the API accepts it; bounded in size and depth."""

import json
from typing import Any

import orjson
import yaml

from certwright.kube.errors import BadRequest, RequestTooLarge, UnsupportedMediaType
from certwright.kube.objects import JsonObject
from certwright.testkit.apiserver.media import body_media_type

SIZE_LIMIT = 3 * 1024 * 1024

_JSON = "application/json"
_YAML = {"application/yaml", "application/apply-patch+yaml"}


def check_size(body: bytes) -> None:
    """Refuse a body larger than etcd and the API server take."""
    if len(body) > SIZE_LIMIT:
        raise RequestTooLarge(f"limit is {SIZE_LIMIT}")


def parse_object(body: bytes | None, content_type: str) -> JsonObject:
    """Read a body that must hold one object."""
    media_type = body_media_type(content_type)
    if media_type != _JSON and media_type not in _YAML:
        raise UnsupportedMediaType(
            "the body of the request was in an unknown format - accepted media types include: "
            "application/json, application/yaml, application/vnd.kubernetes.protobuf"
        )
    value = parse_yaml(body or b"") if media_type in _YAML else parse_json(body or b"")
    if not isinstance(value, dict):
        raise BadRequest(
            "couldn't get version/kind; json parse error: json: cannot unmarshal "
            f"{_go_type(value)} into Go value of type struct {{ APIVersion string "
            '"json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
        )
    return value


def parse_json(body: bytes) -> Any:
    """Read JSON of any shape."""
    check_size(body)
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"error decoding JSON: {error}") from None


def parse_yaml(body: bytes) -> Any:
    """Read YAML; most clients send its JSON subset, which is tried first."""
    check_size(body)
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    try:
        return yaml.load(body, Loader=_Loader)  # noqa: S506  # a SafeLoader without dates
    except (yaml.YAMLError, RecursionError) as error:
        raise BadRequest(f"error decoding YAML: {error}") from None


def duplicate_fields(body: bytes) -> list[str]:
    """Return the paths of JSON keys that occur twice in one object; parsing keeps the last."""
    found: list[str] = []

    def collect(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, value in pairs:
            if key in result:
                result[f"\0{key}"] = None
            result[key] = value
        return result

    def walk(value: Any, path: str) -> None:
        if isinstance(value, dict):
            for key, child in value.items():
                if key.startswith("\0"):
                    found.append(f"{path}{key[1:]}")
                else:
                    walk(child, f"{path}{key}.")
        elif isinstance(value, list):
            for index, child in enumerate(value):
                walk(child, f"{path[:-1]}[{index}].")

    try:
        walk(json.loads(body, object_pairs_hook=collect), "")
    except (ValueError, RecursionError):
        return []  # YAML, or too deep to matter: the caller has already read it
    return found


class _Loader(yaml.SafeLoader):
    """YAML as the API server reads it: timestamps stay strings."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _go_type(value: Any) -> str:
    names = {list: "array", str: "string", bool: "bool", type(None): "null"}
    return names.get(type(value), "number")
