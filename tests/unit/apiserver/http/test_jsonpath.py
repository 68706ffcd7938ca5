import pytest

from certwright.apiserver.http.jsonpath import find
from certwright.kube import JsonObject

OBJECT = {
    "spec": {"replicas": 3, "a.b": "dotted", "ports": [{"port": 80}, {"port": 443}]},
    "status": {
        "conditions": [
            {"type": "Ready", "status": "True"},
            {"type": "Synced", "status": "False", "fatal": True},
        ]
    },
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".spec.replicas", [3]),
        ("{.spec.replicas}", [3]),
        (".spec.missing", []),
        (".spec.replicas.deeper", []),
        (".spec.ports[0].port", [80]),
        (".spec.ports[-1].port", [443]),
        (".spec.ports[7].port", []),
        (".spec.ports[*].port", [80, 443]),
        (".spec['a.b']", ["dotted"]),
        (r".spec.a\.b", ["dotted"]),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".status.conditions[?(@.type=='Synced')].status", ["False"]),
        ('.status.conditions[?(@.type == "Other")].status', []),
        (".status.conditions[?(@.fatal==true)].type", ["Synced"]),
        (".spec[nonsense", []),
        ("", [OBJECT]),
    ],
)
def test_paths(path: str, found: list[int | str | JsonObject]) -> None:
    assert find(OBJECT, path) == found
