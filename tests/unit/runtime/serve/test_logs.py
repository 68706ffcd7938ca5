import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from certwright.kube import JsonObject, Key
from certwright.runtime import configure_logs
from certwright.runtime.serve.logs import redact, redact_text, silence

KEY = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEE\n-----END EC PRIVATE KEY-----"
JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl"


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield io.StringIO()
    structlog.reset_defaults()
    root.handlers[:], root.level = handlers, level


def test_json_is_one_object_per_line(stream: io.StringIO) -> None:
    configure_logs(as_json=True, stream=stream)
    structlog.get_logger().info("applied object", key=Key("ns", "a\nb"), count=2)
    lines = stream.getvalue().splitlines()
    assert len(lines) == 1
    record = json.loads(lines[0])
    assert (record["level"], record["event"], record["key"], record["count"]) == (
        "info",
        "applied object",
        "ns/a\nb",
        2,
    )


def test_texts_in_a_list_are_read_without_brackets(stream: io.StringIO) -> None:
    configure_logs(as_json=False, stream=stream)
    structlog.get_logger().info("raised", lines=["a.py:1 in sign: x()", "b.py:2"], counts=[1, 2])
    assert stream.getvalue().endswith('lines="a.py:1 in sign: x(); b.py:2" counts=[1,2]\n')


def test_text_cannot_be_forged_from_inside(stream: io.StringIO) -> None:
    configure_logs(as_json=False, stream=stream)
    evil = "x\n12:00:00.000 ERROR   all is lost\x1b[2J\u2028\u202e"
    structlog.get_logger().info("saw " + evil, note=evil, **{"k\ney": evil})
    text = stream.getvalue()
    assert text.count("\n") == 1
    assert "\x1b" not in text
    assert "\u2028" not in text
    assert "\u202e" not in text


def test_a_traceback_is_indented_so_it_cannot_pass_for_a_record(stream: io.StringIO) -> None:
    configure_logs(as_json=False, stream=stream)
    try:
        raise ValueError("first\nsecond")
    except ValueError:
        structlog.get_logger().exception("crashed")
    first, *rest = stream.getvalue().splitlines()
    assert "crashed" in first
    assert rest
    assert all(line.startswith("    ") for line in rest)


def test_text_is_the_default_only_on_a_terminal(stream: io.StringIO) -> None:
    configure_logs(stream=stream)
    structlog.get_logger().info("hello")
    assert json.loads(stream.getvalue())["event"] == "hello"


def test_nothing_is_written_in_silence(stream: io.StringIO) -> None:
    configure_logs(as_json=True, stream=stream)
    log = structlog.get_logger()
    with silence():
        log.error("nothing of this")
    log.error("but this")
    assert [json.loads(line)["event"] for line in stream.getvalue().splitlines()] == ["but this"]


def test_levels_are_honoured_and_foreign_loggers_look_the_same(stream: io.StringIO) -> None:
    configure_logs(level="warning", as_json=True, stream=stream)
    structlog.get_logger().info("quiet")
    logging.getLogger("aiohttp").error("foreign %s", "trouble", extra={"token": "t"})
    (line,) = stream.getvalue().splitlines()
    assert json.loads(line)["event"] == "foreign trouble"


@pytest.mark.parametrize(
    "event",
    [
        {"token": "abc"},
        {"authorization": "abc"},
        {"clientKeyData": "abc"},
        {"event": f"cannot use {KEY}".replace("MHcCAQEE", "abc")},
        {"event": "-----BEGIN PRIVATE KEY-----\nabc"},
        {"headers": {"Authorization": "Bearer abc"}},
        {"note": "sent Bearer abc to it"},
        {"obj": {"kind": "Secret", "data": {"tls.key": "abc"}}},
        {"obj": [{"kind": "Secret", "stringData": {"x": "abc"}}]},
        {"raw": b"abc"},
        {"error": ValueError("Basic YWJjZGVmZ2g6abc=")},
    ],
)
def test_secrets_do_not_get_out(event: dict[str, Any]) -> None:
    assert "abc" not in str(redact(None, "info", event))


def test_web_tokens_are_recognised_anywhere() -> None:
    assert redact_text(f"got {JWT}, sorry") == "got [redacted], sorry"


def test_harmless_values_stay_what_they_are() -> None:
    event = {"event": "x", "count": 3, "ok": True, "key": Key("a", "b"), "items": ["a", {"b": 1}]}
    assert redact(None, "info", event) == {
        "event": "x",
        "count": 3,
        "ok": True,
        "key": "a/b",
        "items": ["a", {"b": 1}],
    }


@pytest.mark.parametrize("as_json", [True, False])
def test_values_no_format_knows_are_written_all_the_same(
    stream: io.StringIO, *, as_json: bool
) -> None:
    configure_logs(as_json=as_json, stream=stream)
    structlog.get_logger().info("odd", half="\ud800", huge=2**70, key={1: object()}, quote='a "b"')
    assert "odd" in stream.getvalue()
    assert stream.getvalue().count("\n") == 1


def test_a_value_that_contains_itself_does_not_hang_the_log() -> None:
    loop: JsonObject = {}
    loop["self"] = loop
    assert "…" in str(redact(None, "info", {"value": loop}))
