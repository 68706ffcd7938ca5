"""Structured logs: lines for people on a terminal, JSON for machines, never a secret.

Modules log through ``structlog.get_logger()``; the process calls `configure` once, at its
composition root. Everything the standard library's ``logging`` receives (aiohttp, asyncio)
comes out in the same shape. Values come from the cluster and are not trusted: control
characters never reach a terminal and one record is always one line.
"""

import logging
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TextIO

import orjson
import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

_REDACTED = "[redacted]"
_SECRET_TEXT = re.compile(
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\Z)"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"
    r"|(?<=\bBearer )\S+"
    r"|(?<=\bBasic )[A-Za-z0-9+/=]{8,}",
    re.DOTALL,
)
_SECRET_NAMES = re.compile(
    r"authorization|password|passwd|secret_?data|string_?data|private_?key|credential|"
    r"(^|[_-])token$|token_?data|client_?key_?data",
    re.IGNORECASE,
)
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_NEEDS_QUOTES = re.compile(r'[\s"=]')
_MAX_DEPTH = 6


def configure(
    *, level: str = "info", as_json: bool | None = None, stream: TextIO | None = None
) -> None:
    """Set up logging for the process; *as_json* None means JSON unless the stream is a terminal."""
    out = stream or sys.stderr
    as_json = not out.isatty() if as_json is None else as_json
    threshold = logging.getLevelNamesMapping()[level.upper()]
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
        structlog.processors.format_exc_info,
        redact,
    ]
    render: Processor = _as_json if as_json else _as_text
    structlog.configure(
        processors=[*shared, render],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.WriteLoggerFactory(file=out),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(out)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, render],
        )
    )
    logging.basicConfig(level=max(threshold, logging.WARNING), handlers=[handler], force=True)


@contextmanager
def silence() -> Iterator[None]:
    """Drop log lines before they are put into words, for as long as the context lasts."""
    processors = structlog.get_config()["processors"]
    before = processors.copy()
    processors[:] = [_drop]
    try:
        yield
    finally:
        processors[:] = before


def _drop(_logger: WrappedLogger, _method: str, _event: EventDict) -> EventDict:
    raise structlog.DropEvent


def redact(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Replace tokens, private keys and the data of Secrets, wherever they hide."""
    return {name: _clean(name, value, 0) for name, value in event.items()}


def redact_text(text: str) -> str:
    """Return *text* without private keys, bearer tokens and JSON web tokens."""
    if not text.isascii():
        text = text.encode(errors="backslashreplace").decode()  # half a surrogate pair is no text
    return _SECRET_TEXT.sub(_REDACTED, text)


def _clean(name: str, value: Any, depth: int) -> Any:
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else str(value)
    if _SECRET_NAMES.search(name):
        return _REDACTED
    if depth > _MAX_DEPTH:
        return "…"
    match value:
        case Mapping():
            secret = value.get("kind") == "Secret"
            return {
                str(k): _REDACTED if secret and k == "data" else _clean(str(k), v, depth + 1)
                for k, v in value.items()
            }
        case bytes() | bytearray():
            return f"<{len(value)} bytes>"
        case tuple() if hasattr(value, "_fields"):  # a Key prints as namespace/name
            return redact_text(str(value))
        case list() | tuple() | set() | frozenset():
            return [_clean(name, item, depth + 1) for item in value]
        case _:
            return redact_text(str(value))


def _as_json(_logger: WrappedLogger, _method: str, event: EventDict) -> str:
    ordered = {"time": event.pop("time", None), "level": event.pop("level", None), **event}
    return orjson.dumps(ordered, default=str, option=orjson.OPT_NON_STR_KEYS).decode()


def _as_text(_logger: WrappedLogger, _method: str, event: EventDict) -> str:
    time = str(event.pop("time", ""))[11:23]
    level = str(event.pop("level", "")).upper()
    message = _one_line(str(event.pop("event", "")))
    trace = event.pop("exception", "")
    pairs = " ".join(f"{_one_line(str(k))}={_quoted(v)}" for k, v in event.items())
    line = f"{time} {level:<7} {message}{'  ' if pairs else ''}{pairs}"
    for row in str(trace).splitlines():
        line += f"\n    {_one_line(row)}"  # indented, so it cannot pass for a record
    return line


def _quoted(value: object) -> str:
    if isinstance(value, list | tuple) and all(isinstance(one, str) for one in value):
        value = "; ".join(value)
    text = value if isinstance(value, str) else orjson.dumps(value, default=str).decode()
    if text and not _NEEDS_QUOTES.search(text):
        return _one_line(text)
    return '"' + _one_line(text.replace('"', '\\"')) + '"'


def _one_line(text: str) -> str:
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)
