"""Where the numbers come from: the machine and the versions of everything that takes part."""

import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

PACKAGES = (
    "certwright", "kopf", "kubernetes", "aiohttp", "msgspec", "orjson", "uvloop",
)  # fmt: skip


def describe() -> dict[str, Any]:
    """Return what somebody needs to know to judge a measurement; nothing that names a host."""
    return {**hardware(), "packages": {name: version(name) for name in PACKAGES}}


def hardware() -> dict[str, Any]:
    """Return the machine and the interpreter."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(memory / 2**30, 1),
        "load": round(os.getloadavg()[0], 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
    }


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
