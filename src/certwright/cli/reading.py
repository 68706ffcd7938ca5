"""Manifests that were named on the command line."""

import sys
from collections.abc import Sequence
from pathlib import Path

from certwright.apply import Manifest, read_files
from certwright.cli.errors import UsageError
from certwright.kube import GroupVersionKind, JsonObject


def read_manifests(paths: Sequence[str | Path], *, recursive: bool = False) -> list[Manifest]:
    """Read files, directories and standard input.

    Raises:
        UsageError: there is nothing in them.
        ExceptionGroup: of a `UsageError` for each document that cannot be read, or is no object.
    """
    read = read_files(paths, stdin=sys.stdin.buffer, recursive=recursive)
    wrong = [UsageError(str(error)) for error in read.errors]
    wrong += [UsageError(f"{m.origin}: {why}") for m in read.objects if (why := _problem(m.obj))]
    if wrong:
        raise ExceptionGroup("manifests that cannot be used", wrong)
    if not read.objects:
        raise UsageError(f"{', '.join(map(str, paths))}: no manifests in there")
    return read.objects


def _problem(obj: JsonObject) -> str:
    """Say what keeps a manifest from being an object; empty if nothing does."""
    for name in ("apiVersion", "kind"):
        if not isinstance(obj.get(name), str) or not obj[name]:
            return f"no {name}; every object has one"
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        return "no metadata.name; what is applied has a name (generateName is for kubectl create)"
    try:
        GroupVersionKind.parse(obj["apiVersion"], obj["kind"])
    except ValueError as error:
        return str(error)
    return ""
