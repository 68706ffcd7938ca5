"""Records which files of certwright run, in which order, and which call which."""

import sys
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import certwright

ROOT = Path(certwright.__file__).parent
_PREFIX = f"{ROOT}/"
_DECODERS = frozenset({"decode", "json_decode", "loads"})


@dataclass
class Record:
    """What ran in a journey. Files are relative to the package."""

    files: dict[str, None] = field(default_factory=dict)
    """In the order in which they were first entered."""
    calls: dict[tuple[str, str], str] = field(default_factory=dict)
    """Per caller and callee, two files, the first function that was called."""
    decodes: Counter[str] = field(default_factory=Counter)
    """Per place that decoded the object of the journey, how often."""


class Tracer:
    """Watches the calls of a thread, and of those it starts, while it is switched on."""

    def __init__(self) -> None:
        self.on = False
        self.record = Record()
        self.needle = b""
        """Bytes that only the object of the journey contains: to recognise its decodes."""
        self._names: dict[CodeType, str] = {}

    def start(self, *, threads: bool = True) -> None:
        """Trace this thread and, if asked, those that start from now on."""
        if threads:
            threading.setprofile(self._profile)
        sys.setprofile(self._profile)

    def stop(self) -> None:
        """End the tracing of this thread."""
        self.on = False
        threading.setprofile(None)
        sys.setprofile(None)

    def _profile(self, frame: FrameType, event: str, arg: Any) -> None:
        if not self.on:
            return
        if event == "call":
            self._called(frame)
        elif event == "c_call" and self.needle and arg.__name__ in _DECODERS:
            self._decoded(frame)

    def _called(self, frame: FrameType) -> None:
        callee = self._file(frame.f_code)
        if not callee:
            return
        self.record.files.setdefault(callee)
        caller = frame.f_back
        while caller is not None and not self._file(caller.f_code):
            caller = caller.f_back
        if caller is not None and (name := self._file(caller.f_code)) != callee:
            self.record.calls.setdefault((name, callee), frame.f_code.co_qualname)

    def _decoded(self, frame: FrameType) -> None:
        place = self._place(frame)
        if place and self._holds(frame):
            self.record.decodes[place] += 1

    def _holds(self, frame: FrameType) -> bool:
        """Return whether the object of the journey is among the variables of a function."""
        for value in frame.f_locals.values():
            data = getattr(value, "raw", value)
            if isinstance(data, bytes | memoryview) and self.needle in bytes(data):
                return True
        return False

    def _place(self, frame: FrameType | None) -> str:
        """Return the function above the runtime that decodes or has the runtime decode.

        Nothing for what the cache decodes on its own account, which is the metadata.
        """
        while frame is not None:
            name = self._file(frame.f_code)
            if name and not name.startswith("runtime/"):
                return f"{name} {frame.f_code.co_qualname}"
            frame = frame.f_back
        return ""

    def _file(self, code: CodeType) -> str:
        """Return the file of a function; nothing if it is not certwright's, or a module body."""
        name = self._names.get(code)
        if name is None:
            path = code.co_filename
            inside = path.startswith(_PREFIX) and code.co_name != "<module>"
            name = self._names[code] = path.removeprefix(_PREFIX) if inside else ""
        return name
