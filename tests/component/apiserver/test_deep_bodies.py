"""Bodies that are nested too deeply are refused, and the server goes on."""

import orjson
import pytest

from certwright.apiserver import ApiServer
from certwright.client.transport import Request, Response
from certwright.kube.patches import (
    APPLY_PATCH,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_MERGE_PATCH,
)

MAPS = "/api/v1/namespaces/default/configmaps"


def send(server: ApiServer, method: str, path: str, body: bytes, kind: str) -> Response:
    query = (("fieldManager", "me"),) if kind == APPLY_PATCH else ()
    return server.handle(Request("", method, path, query, (("content-type", kind),), body))


def tower(levels: int, name: bytes = b"f:x") -> bytes:
    return b'{"%b":' % name * (levels - 1) + b"{}" + b"}" * (levels - 1)


def config_map(data: bytes) -> bytes:
    return b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":%b}' % data


@pytest.mark.parametrize("levels", [250, 1_200, 10_001, 100_000])
@pytest.mark.parametrize(
    ("method", "path", "kind"),
    [
        ("POST", MAPS, "application/json"),
        ("POST", MAPS, "application/yaml"),
        ("PUT", f"{MAPS}/a", "application/json"),
        ("PATCH", f"{MAPS}/a", MERGE_PATCH),
        ("PATCH", f"{MAPS}/a", STRATEGIC_MERGE_PATCH),
        ("PATCH", f"{MAPS}/a", APPLY_PATCH),
        ("DELETE", f"{MAPS}/a", "application/json"),
    ],
)
def test_deep_bodies_are_refused(method: str, path: str, kind: str, levels: int) -> None:
    server = ApiServer()
    made = send(server, "POST", MAPS, config_map(b'{"k":"v"}'), "application/json")
    assert made.status == 201
    refused = send(server, method, path, config_map(tower(levels)), kind)
    assert refused.status == 400
    assert b"exceeded max depth" in refused.body
    assert send(server, "GET", f"{MAPS}/a", b"", "").status == 200


def test_deep_blocks_of_yaml_are_refused() -> None:
    deep = "".join(f"{' ' * level}a:\n" for level in range(1_500)).encode()
    refused = send(ApiServer(), "POST", MAPS, b"data:\n" + deep, "application/yaml")
    assert refused.status == 400


DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "bags.demo.example.com"},
    "spec": {
        "group": "demo.example.com",
        "scope": "Namespaced",
        "names": {"kind": "Bag", "plural": "bags"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
            }
        ],
    },
}


def test_patches_cannot_pile_up_depth() -> None:
    server = ApiServer()
    defined = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    send(server, "POST", defined, orjson.dumps(DEFINITION), "application/json")
    bags = "/apis/demo.example.com/v1/namespaces/default/bags"
    body = b'{"apiVersion":"demo.example.com/v1","kind":"Bag","metadata":{"name":"w"},"spec":%b}'
    assert send(server, "POST", bags, body % tower(150, b"a"), "application/json").status == 201
    patch = b'[{"op":"add","path":"/spec%b/b","value":%b}]' % (b"/a" * 149, tower(150))
    refused = send(server, "PATCH", f"{bags}/w", patch, JSON_PATCH)
    assert refused.status == 400
    assert b"exceeded max depth" in refused.body
    assert send(server, "GET", f"{bags}/w", b"", "").status == 200
