from typing import Any

import pytest

from certwright.apiserver.http.request import ResourcePath, parse_path


@pytest.mark.parametrize(
    ("path", "address"),
    [
        ("/api/v1/pods", ResourcePath("", "v1", "pods")),
        ("/api/v1/namespaces", ResourcePath("", "v1", "namespaces")),
        ("/api/v1/namespaces/n", ResourcePath("", "v1", "namespaces", "", "n")),
        (
            "/api/v1/namespaces/n/finalize",
            ResourcePath("", "v1", "namespaces", "", "n", "finalize"),
        ),
        ("/api/v1/namespaces/n/status", ResourcePath("", "v1", "namespaces", "", "n", "status")),
        ("/api/v1/namespaces/n/pods", ResourcePath("", "v1", "pods", "n")),
        ("/api/v1/namespaces/n/pods/p/status", ResourcePath("", "v1", "pods", "n", "p", "status")),
        (
            "/apis/apps/v1/namespaces/n/deployments/d",
            ResourcePath("apps", "v1", "deployments", "n", "d"),
        ),
        ("/apis/x.io/v1/things/a%3Ab", ResourcePath("x.io", "v1", "things", "", "a:b")),
        ("/api/v1", None),
        ("/apis/apps/v1", None),
        ("/version", None),
        ("/", None),
        ("/api/v1/namespaces/n/pods/p/a/b", ResourcePath("", "v1", "pods", "n", "p", "a/b")),
    ],
)
def test_paths_are_read(path: Any, address: Any) -> None:
    assert parse_path(path) == address
