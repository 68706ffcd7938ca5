"""A conversion webhook of a kind with one field that its two versions write differently.

``v1`` has ``spec.address: host:port``, ``v2`` has ``spec.host`` and ``spec.port``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from certwright.kube import JsonObject

Json = dict[str, Any]

TEXT: Json = {"type": "string"}


def _version(name: str, *, storage: bool, **fields: Json) -> Json:
    spec = {"type": "object", "properties": {**fields, "note": TEXT}}
    status = {"type": "object", "properties": {"phase": TEXT}}
    return {
        "name": name,
        "served": True,
        "storage": storage,
        "subresources": {"status": {}},
        "schema": {
            "openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}
        },
    }


def versions(stored: str = "v1") -> list[Json]:
    return [
        _version("v1", storage=stored == "v1", address=TEXT),
        _version("v2", storage=stored == "v2", host=TEXT, port=TEXT),
    ]


def conversion(client_config: Json, *review_versions: str) -> Json:
    webhook = {
        "clientConfig": client_config,
        "conversionReviewVersions": list(review_versions or ("v1",)),
    }
    return {"strategy": "Webhook", "webhook": webhook}


def convert_object(obj: Json, version: str) -> Json:
    """Convert one object, and leave a trace in its annotations and labels."""
    spec = dict(obj.get("spec") or {})
    if version.endswith("/v2") and "address" in spec:
        spec["host"], _, spec["port"] = spec.pop("address").partition(":")
    elif version.endswith("/v1") and "host" in spec:
        spec["address"] = f"{spec.pop('host')}:{spec.pop('port', '')}"
    metadata = {**obj["metadata"], "labels": {**obj["metadata"].get("labels", {}), "seen": "yes"}}
    return {**obj, "apiVersion": version, "metadata": metadata, "spec": spec}


@dataclass(frozen=True)
class Review:
    """A ConversionReview that came in, and the answers to it."""

    document: Json

    @property
    def objects(self) -> list[Json]:
        found: list[Json] = self.document["request"]["objects"]
        return found

    @property
    def wanted(self) -> str:
        return str(self.document["request"]["desiredAPIVersion"])

    def converted(self, objects: list[Json]) -> Json:
        return self._answered({"status": "Success"}, convertedObjects=objects)

    def failed(self, message: str) -> Json:
        return self._answered({"status": "Failure", "message": message})

    def _answered(self, result: Json, **rest: Any) -> Json:
        head = {name: self.document[name] for name in ("apiVersion", "kind")}
        uid = self.document["request"].get("uid", "")
        return {**head, "response": {"uid": uid, "result": result, **rest}}


class Converter:
    """Answers reviews; *spoil* changes what is answered."""

    def __init__(self) -> None:
        self.requests: list[Review] = []
        self.spoil: Callable[[Review, JsonObject], Any] | None = None

    def __call__(self, review: JsonObject) -> Any:
        request = Review(review)
        self.requests.append(request)
        wanted = request.wanted
        answer = request.converted([convert_object(obj, wanted) for obj in request.objects])
        return self.spoil(request, answer) if self.spoil is not None else answer
