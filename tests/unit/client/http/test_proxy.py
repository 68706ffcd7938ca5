"""Which proxy the environment asks for."""

import pytest

from certwright.client.http.proxy import proxy_for

PROXY = {"HTTPS_PROXY": "http://proxy:3128", "HTTP_PROXY": "http://plain:3128"}


@pytest.mark.parametrize(
    ("server", "environ", "expected"),
    [
        ("https://api.example.com", {}, ""),
        ("https://api.example.com", PROXY, "http://proxy:3128"),
        ("http://api.example.com", PROXY, "http://plain:3128"),
        ("https://api.example.com", {"https_proxy": "proxy:3128"}, "http://proxy:3128"),
        ("https://localhost:6443", PROXY, ""),
        ("https://127.0.0.1:6443", PROXY, ""),
        ("https://[::1]:6443", PROXY, ""),
        ("https://api.example.com", PROXY | {"NO_PROXY": "example.com"}, ""),
        ("https://example.com", PROXY | {"NO_PROXY": "example.com"}, ""),
        ("https://example.com", PROXY | {"NO_PROXY": ".example.com"}, "http://proxy:3128"),
        ("https://api.example.com", PROXY | {"NO_PROXY": "other, .example.com"}, ""),
        ("https://api.example.com", PROXY | {"no_proxy": "*.example.com"}, ""),
        ("https://badexample.com", PROXY | {"NO_PROXY": "example.com"}, "http://proxy:3128"),
        ("https://api.example.com", PROXY | {"NO_PROXY": "*"}, ""),
        ("https://10.0.0.7:6443", PROXY | {"NO_PROXY": "10.0.0.0/8"}, ""),
        ("https://11.0.0.7:6443", PROXY | {"NO_PROXY": "10.0.0.0/8"}, "http://proxy:3128"),
        ("https://10.0.0.7:6443", PROXY | {"NO_PROXY": "10.0.0.7"}, ""),
        ("https://10.0.0.7:6443", PROXY | {"NO_PROXY": "10.0.0.7:6443"}, ""),
        ("https://10.0.0.7:6443", PROXY | {"NO_PROXY": "10.0.0.7:443"}, "http://proxy:3128"),
        ("https://api.example.com", PROXY | {"NO_PROXY": "api.example.com:443"}, ""),
        ("https://[fd00::7]:6443", PROXY | {"NO_PROXY": "fd00::/8"}, ""),
        ("https://[fd00::7]:6443", PROXY | {"NO_PROXY": "fd00::7"}, ""),
        ("https://10.0.0.7", PROXY | {"NO_PROXY": "nonsense/99,,"}, "http://proxy:3128"),
    ],
)
def test_proxy(server: str, environ: dict[str, str], expected: str) -> None:
    assert proxy_for(server, environ) == expected
