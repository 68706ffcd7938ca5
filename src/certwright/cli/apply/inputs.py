"""Manifests from the files, directories and standard input that a command names."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from certwright.apply import Manifest, ObjectRef, read_files
from certwright.cli.errors import UsageError
from certwright.kube import GroupVersionKind, JsonObject


@dataclass(frozen=True, slots=True)
class ManifestFiles:
    """The manifests of files, and what is wrong with the documents that are none."""

    manifests: list[Manifest]
    problems: list[str]
    """For each document that cannot be used, its file and line, and why not."""

    @property
    def doubts(self) -> str:
        """Why objects may be missing in the manifests; empty if none are."""
        number = len(self.problems)
        return f"{number} document{'s' if number > 1 else ''} cannot be used" if number else ""

    def print_problems(self) -> None:
        """Print on standard error what cannot be used."""
        for problem in self.problems:
            print(f"error: {problem}", file=sys.stderr)


def read_input(paths: Sequence[str | Path], *, recursive: bool = False) -> ManifestFiles:
    """Read manifests as far as they can be read; `UsageError`, or a group of them, if none can."""
    stdin = sys.stdin.buffer if sys.stdin else BytesIO()  # it may be closed
    read = read_files(paths, stdin=stdin, recursive=recursive)
    problems = [str(error) for error in read.errors]
    good = []
    for manifest in read.objects:
        if why := _problem(manifest.obj):
            problems.append(f"{manifest.origin}: {why}")
        else:
            good.append(manifest)
    if not good and problems:
        raise _unusable(problems)
    if not good:
        raise UsageError(f"{', '.join(map(str, paths))}: no manifests found")
    return ManifestFiles(good, problems)


def read_manifests(paths: Sequence[str | Path], *, recursive: bool = False) -> list[Manifest]:
    """Read manifests if all can be read; `UsageError`, or a group with one for each that cannot."""
    files = read_input(paths, recursive=recursive)
    if files.problems:
        raise _unusable(files.problems)
    return files.manifests


def _unusable(problems: Sequence[str]) -> ExceptionGroup[UsageError]:
    return ExceptionGroup("manifests that cannot be used", [*map(UsageError, problems)])


def _problem(obj: JsonObject) -> str:
    """Return why a manifest is not an object; empty if it is one."""
    for name in ("apiVersion", "kind"):
        if not isinstance(obj.get(name), str) or not obj[name]:
            return f"no {name}; every object has one"
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        return "no metadata.name; give it one (generateName works with kubectl create only)"
    for part in ("labels", "annotations"):
        if not isinstance(metadata.get(part) or {}, dict):
            return f"metadata.{part} is not a map from names to texts"
    if not isinstance(metadata.get("namespace") or "", str):
        return f"metadata.namespace {metadata['namespace']!r} is not text; put it in quotes"
    try:
        GroupVersionKind.parse(obj["apiVersion"], obj["kind"])
    except ValueError as error:
        return str(error)
    ref = ObjectRef.of(obj)
    return "" if ref.possible else f"{str(ref.key)!r} is not a possible namespace and name"
