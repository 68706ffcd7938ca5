"""Requests as they go over the wire."""

import pytest

from certwright.client import Request
from certwright.client.http.message import RequestWriter


def written(
    request: Request, server: str = "https://api:6443", proxy: str = "", authorization: str = ""
) -> tuple[list[str], bytes]:
    writer = RequestWriter(server, proxy, ("user-agent", "me"))
    head, body = writer.write(
        request.method,
        request.path,
        request.query,
        request.headers,
        request.body or b"",
        authorization,
    )
    assert head.endswith(b"\r\n\r\n")
    return head.decode().split("\r\n")[:-2], body


def test_a_read() -> None:
    lines, body = written(Request("get", "GET", "/api", (), (("accept", "text/plain"),)))
    assert lines == ["GET /api HTTP/1.1", "host: api:6443", "user-agent: me", "accept: text/plain"]
    assert body == b""


def test_a_write() -> None:
    request = Request("create", "POST", "/api", body=b"{}")
    lines, body = written(request, authorization="Bearer abc")
    assert lines[-2:] == ["authorization: Bearer abc", "content-length: 2"]
    assert body == b"{}"


def test_a_write_of_nothing_says_so() -> None:
    assert written(Request("create", "POST", "/a"))[0][-1] == "content-length: 0"
    assert written(Request("delete", "DELETE", "/a"))[0][-1] == "user-agent: me"


def test_a_server_with_a_path() -> None:
    lines, _ = written(Request("get", "GET", "/api"), "https://api/k8s/c-1/")
    assert lines[:2] == ["GET /k8s/c-1/api HTTP/1.1", "host: api"]


def test_values_of_a_query_are_quoted() -> None:
    query = (("labelSelector", "a in (b,ü)\r\n"), ("limit", "500"))
    lines, _ = written(Request("list", "GET", "/api", query))
    assert lines[0] == ("GET /api?labelSelector=a%20in%20%28b%2C%C3%BC%29%0D%0A&limit=500 HTTP/1.1")


def test_a_proxy_reads_what_is_not_encrypted() -> None:
    request = Request("get", "GET", "/api")
    lines, _ = written(request, "http://api:8001/", proxy="http://joe:p%40ss@proxy")
    assert lines[0] == "GET http://api:8001/api HTTP/1.1"
    assert "Proxy-Authorization: Basic am9lOnBAc3M=" in lines


def test_a_proxy_learns_nothing_of_what_is_encrypted() -> None:
    request = Request("get", "GET", "/api")
    lines, _ = written(request, "https://api:6443", proxy="http://joe:pass@proxy")
    assert lines == ["GET /api HTTP/1.1", "host: api:6443", "user-agent: me"]


@pytest.mark.parametrize(
    "request_",
    [
        Request("get", "GET", "/a HTTP/1.1\r\nX-Evil: yes\r\n"),
        Request("get", "GET", "/a b"),
        Request("get", "GET", "/ä"),
        Request("get", "GET", "/a#b"),
        Request("get", "GET", "/a\0"),
        Request("get", "GET / HTTP/1.1\r\n", "/a"),
        Request("get", "GET", "/a", (("a\r\nb", "c"),)),
        Request("get", "GET", "/a", (), (("accept", "a\r\nX-Evil: yes"),)),
        Request("get", "GET", "/a", (), (("accept", "a\nX-Evil: yes"),)),
        Request("get", "GET", "/a", (), (("accept", "a\0"),)),
        Request("get", "GET", "/a", (), (("accept:x\r\ny", "a"),)),
        Request("get", "GET", "/a", (), (("", "a"),)),
    ],
)
def test_nothing_can_be_smuggled_in(request_: Request) -> None:
    with pytest.raises(ValueError, match=r"cannot be part of a URL|no header can hold"):
        written(request_)


def test_not_even_by_the_configuration() -> None:
    with pytest.raises(ValueError, match="the header 'impersonate-user' holds"):
        RequestWriter("https://api", "", ("impersonate-user", "a\r\nimpersonate-group: b"))
