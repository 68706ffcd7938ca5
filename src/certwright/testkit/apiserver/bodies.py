"""Reading request bodies: JSON, or YAML where the API accepts it; bounded in size and depth."""

from typing import Any

import orjson
import yaml

from certwright.kube.errors import BadRequest, RequestTooLarge, UnsupportedMediaType
from certwright.kube.objects import JsonObject
from certwright.testkit.apiserver.media import body_media_type

SIZE_LIMIT = 3 * 1024 * 1024

_SUMMARY = 30
_JSON = "application/json"
_YAML = {"application/yaml", "application/apply-patch+yaml"}


def check_size(body: bytes) -> None:
    """Refuse a body larger than etcd and the API server take."""
    if len(body) > SIZE_LIMIT:
        raise RequestTooLarge(f"limit is {SIZE_LIMIT}")


def parse_object(body: bytes | None, content_type: str, kind: str = "") -> JsonObject:
    """Read a body that must hold one object; *kind* says in refusals what was expected."""
    failure = "couldn't get version/kind; json parse error"
    if kind:
        failure = f"the object provided is unrecognized (must be of type {kind}): {failure}"
    media_type = body_media_type(content_type)
    if media_type != _JSON and media_type not in _YAML:
        raise UnsupportedMediaType(
            "the body of the request was in an unknown format - accepted media types include: "
            "application/json, application/yaml, application/vnd.kubernetes.protobuf"
        )
    value = parse_yaml(body or b"") if media_type in _YAML else parse_json(body or b"", failure)
    if not isinstance(value, dict):
        raise BadRequest(
            f"{failure}: json: cannot unmarshal {go_type(value)} into Go value of type struct "
            '{ APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string '
            f'"json:\\"kind,omitempty\\"" }}{_summary(body or b"") if kind else ""}'
        )
    return value


def _summary(body: bytes) -> str:
    """Return the beginning of a body as refusals quote it: text if it looks like JSON."""
    start = body[:_SUMMARY]
    return f" ({start.decode(errors='replace') if start.startswith(b'{') else start.hex()})"


def parse_json(body: bytes, failure: str) -> Any:
    """Read JSON of any shape; a refusal begins with *failure*."""
    check_size(body)
    if not body:
        raise BadRequest(f"{failure}: unexpected end of JSON input")
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"{failure}: {error}") from None


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


class _Loader(yaml.SafeLoader):
    """YAML as the API server reads it: timestamps stay strings."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def go_type(value: Any) -> str:
    """Return what Go's JSON decoder calls the type of a value."""
    names = {dict: "object", list: "array", str: "string", bool: "bool", type(None): "null"}
    return names.get(type(value), "number")
