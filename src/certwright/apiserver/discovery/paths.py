"""Paths that are no resources: discovery, OpenAPI, version, health."""

import orjson

from certwright.apiserver.discovery import openapi
from certwright.apiserver.discovery.groups import GroupDiscovery
from certwright.apiserver.http.request import lower_headers
from certwright.apiserver.http.responses import json_response
from certwright.apiserver.kinds.kind import ServedKind
from certwright.apiserver.refusals import PathNotServed, method_not_allowed
from certwright.apiserver.storage.registry import Registry
from certwright.client.transport import Request, Response
from certwright.kube.objects import JsonObject

_OPENAPI_V3 = "/openapi/v3"
_V2_PROTOBUF = "com.github.proto-openapi.spec.v2@v1.0+protobuf"
_EMPTY_V2 = b"\x0a\x032.0\x12\x15\x0a\x0aKubernetes\x12\x07v1.36.3"
"""A document that declares nothing: kubectl asks for it in protobuf only, and only to validate
kinds the newer document does not have; there it wants to hear that there is no such kind."""


class Paths:
    """Answers requests to paths that name no resource."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._discovery = GroupDiscovery(registry)
        self._documents: dict[str, tuple[list[ServedKind], JsonObject]] = {}

    def answer(self, request: Request) -> Response:
        """Answer with a document; `PathNotServed` if there is none at this path."""
        if request.method != "GET":
            raise method_not_allowed()
        path = request.path.rstrip("/")
        if path == _OPENAPI_V3:
            documents = {name: self._document(name) for name in self._group_versions()}
            return json_response(200, orjson.dumps(openapi.index(documents)))
        if path == "/openapi/v2" and _V2_PROTOBUF in lower_headers(request).get("accept", ""):
            content_type = f"application/{_V2_PROTOBUF.replace('@', '.')}"  # as the server says
            return Response(200, {"content-type": content_type}, _EMPTY_V2)
        if path == "/openapi/v2":
            return json_response(200, orjson.dumps(openapi.v2(list(self._registry))))
        if path.startswith(f"{_OPENAPI_V3}/"):
            name = path.removeprefix(f"{_OPENAPI_V3}/")
            if name not in self._group_versions():
                raise PathNotServed("404 page not found")
            return json_response(200, orjson.dumps(self._document(name)))
        return self._discovery.answer(request)

    def _group_versions(self) -> dict[str, list[ServedKind]]:
        """Return the kinds of each group version by its path, such as ``apis/apps/v1``."""
        found: dict[str, list[ServedKind]] = {}
        for kind in self._registry:
            resource = kind.resource
            root = "apis" if resource.group else "api"
            found.setdefault(f"{root}/{resource.api_version}", []).append(kind)
        return found

    def _document(self, name: str) -> JsonObject:
        """Return the OpenAPI document of a group version, made once while its kinds last."""
        kinds = self._group_versions()[name]
        known = self._documents.get(name)
        if known is not None and [*map(id, known[0])] == [*map(id, kinds)]:
            return known[1]
        document: JsonObject = openapi.document(kinds)
        self._documents[name] = (kinds, document)
        return document
