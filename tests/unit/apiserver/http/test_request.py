import pytest

from certwright.apiserver.http.request import Address, parse_path


@pytest.mark.parametrize(
    ("path", "address"),
    [
        ("/api/v1/pods", Address("", "v1", "pods")),
        ("/api/v1/namespaces", Address("", "v1", "namespaces")),
        ("/api/v1/namespaces/n", Address("", "v1", "namespaces", "", "n")),
        ("/api/v1/namespaces/n/finalize", Address("", "v1", "namespaces", "", "n", "finalize")),
        ("/api/v1/namespaces/n/status", Address("", "v1", "namespaces", "", "n", "status")),
        ("/api/v1/namespaces/n/pods", Address("", "v1", "pods", "n")),
        ("/api/v1/namespaces/n/pods/p/status", Address("", "v1", "pods", "n", "p", "status")),
        (
            "/apis/apps/v1/namespaces/n/deployments/d",
            Address("apps", "v1", "deployments", "n", "d"),
        ),
        ("/apis/x.io/v1/things/a%3Ab", Address("x.io", "v1", "things", "", "a:b")),
        ("/api/v1", None),
        ("/apis/apps/v1", None),
        ("/version", None),
        ("/", None),
        ("/api/v1/namespaces/n/pods/p/a/b", Address("", "v1", "pods", "n", "p", "a/b")),
    ],
)
def test_paths_are_read(path, address):
    assert parse_path(path) == address
