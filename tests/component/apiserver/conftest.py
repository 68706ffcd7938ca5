"""A fresh embedded server per test, and a short way to talk to it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest

from certwright.apiserver import ADMIN, ApiServer, UserInfo
from certwright.client.transport import Request
from certwright.kube import JsonObject

MERGE = "application/merge-patch+json"


class SetClock:
    """A clock that stands still until told otherwise."""

    def __init__(self) -> None:
        self._now = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._now.timestamp()

    def advance(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)


@dataclass(frozen=True)
class Answer:
    status: int
    body: Any
    headers: dict[str, str]

    @property
    def message(self) -> str:
        value: str = self.body["message"]
        return value


def request(
    method: str,
    path: str,
    body: bytes | JsonObject | None = None,
    *,
    content_type: str = "application/json",
    headers: list[tuple[str, str]] | tuple[Any, ...] = (),
    **query: Any,
) -> Request:
    encoded = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    return Request(
        verb="",
        method=method,
        path=path,
        query=tuple((name, str(value)) for name, value in query.items()),
        headers=(("Content-Type", content_type), ("User-Agent", "test/1.0"), *headers),
        body=encoded,
    )


class Api:
    """Requests to one server as one user, answers as Python values."""

    def __init__(self, server: ApiServer, user: UserInfo = ADMIN) -> None:
        self.server = server
        self.user = user

    def __call__(
        self, method: str, path: str, body: bytes | JsonObject | None = None, **options: Any
    ) -> Answer:
        response = self.server.handle(request(method, path, body, **options), self.user)
        is_json = response.headers["content-type"].startswith("application/json")
        decoded = json.loads(response.body) if is_json else response.body.decode()
        return Answer(response.status, decoded, dict(response.headers))

    def get(self, path: str, **options: Any) -> Answer:
        return self("GET", path, **options)

    def create(self, path: str, body: bytes | JsonObject, **options: str) -> Answer:
        return self("POST", path, body, **options)

    def replace(self, path: str, body: JsonObject, **options: Any) -> Answer:
        return self("PUT", path, body, **options)

    def merge(self, path: str, body: JsonObject, **options: str) -> Answer:
        return self("PATCH", path, body, content_type=MERGE, **options)

    def apply(self, path: str, body: bytes | JsonObject, **options: str) -> Answer:
        kind = "application/apply-patch+yaml"
        return self("PATCH", path, body, content_type=kind, **options)

    def delete(self, path: str, body: JsonObject | None = None, **options: str) -> Answer:
        return self("DELETE", path, body, **options)

    def names(self, path: str, **options: str) -> list[str]:
        return [item["metadata"]["name"] for item in self.get(path, **options).body["items"]]

    async def events(
        self, path: str, *, until: Callable[..., Any] | type[bool] | None = None, **query: Any
    ) -> list[JsonObject]:
        """Read a watch until it ends or *until* says an event is the last one wanted."""
        stream = self.server.watch(request("GET", path, watch="1", **query), self.user)
        assert stream.status == 200
        found, rest = [], b""
        async for chunk in stream.chunks():
            *lines, rest = (rest + chunk).split(b"\n")
            found += [json.loads(line) for line in lines]
            if until is not None and any(until(event) for event in found):
                break
        assert rest == b""
        return found


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
def server(clock: SetClock) -> ApiServer:
    return ApiServer(clock=clock, rng=Random(7))  # noqa: S311 - repeatable


@pytest.fixture
def api(server: ApiServer) -> Api:
    return Api(server)


@pytest.fixture
def api_of() -> type[Api]:
    """Talk to another server, or as another user."""
    return Api


@pytest.fixture
def maps() -> str:
    return "/api/v1/namespaces/default/configmaps"


@pytest.fixture
def config_map() -> Callable[..., Any]:
    def build(name: str, data: dict[str, str] | None = None, **metadata: Any) -> JsonObject:
        obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}}
        return {**obj, "data": data} if data is not None else obj

    return build


@pytest.fixture
def widgets(api: Api) -> str:
    """A custom resource in two versions; returns where version v1 is served."""
    api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition())
    return "/apis/example.com/v1/namespaces/default/widgets"


def definition(**properties: Any) -> JsonObject:
    """The CustomResourceDefinition of widgets."""

    def version(name: str, **more: Any) -> JsonObject:
        spec = {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "minimum": 0},
                "color": {"type": "string", "default": "red"},
                **properties,
                **more,
            },
        }
        status = {
            "type": "object",
            "properties": {"size": {"type": "integer"}, "selector": {"type": "string"}},
        }
        return {
            "name": name,
            "served": True,
            "storage": name == "v1",
            "subresources": {
                "status": {},
                "scale": {
                    "specReplicasPath": ".spec.size",
                    "statusReplicasPath": ".status.size",
                    "labelSelectorPath": ".status.selector",
                },
            },
            "additionalPrinterColumns": [
                {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
                {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
            ],
            "schema": {
                "openAPIV3Schema": {
                    "type": "object",
                    "properties": {"spec": spec, "status": status},
                }
            },
        }

    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {
                "plural": "widgets",
                "singular": "widget",
                "kind": "Widget",
                "shortNames": ["wd"],
            },
            "versions": [version("v1"), version("v1beta1", old={"type": "string"})],
        },
    }


@pytest.fixture
def crd() -> Callable[..., Any]:
    return definition


@pytest.fixture
def widget() -> Callable[..., Any]:
    def build(name: str, version: str = "v1", *, size: int = 1, **rest: Any) -> JsonObject:
        return {
            "apiVersion": f"example.com/{version}",
            "kind": "Widget",
            "metadata": {"name": name},
            "spec": {"size": size},
            **rest,
        }

    return build
