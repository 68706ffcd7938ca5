"""Manifests in: YAML and JSON from text, files, directories, standard input and Secrets.

Reading never stops at the first mistake: `Manifests` holds every object that could be read and
an error, with file or key, document and line, for each one that could not. A caller that must not
act on half of an input calls `require`; a caller that prunes must not while there are errors.
"""

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, Final

from certwright.apply.manifests.compression import CompressionError, unpack_brotli
from certwright.apply.manifests.documents import Document, read_documents
from certwright.apply.manifests.limits import Budget, LimitExceeded, ReadLimits
from certwright.kube import JsonObject

_SUFFIXES: Final = frozenset({".json", ".yaml", ".yml"})
_COMPRESSED: Final = ".br"
_MOST_REMARKS: Final = 20
"""On one document."""
_LONGEST_KEY: Final = 100
LONGEST_PROBLEM: Final = 500
"""Problems quote the input, which may be megabytes."""


@dataclass(frozen=True, slots=True)
class ManifestOrigin:
    """Where a manifest was written: a file or key, the document in it, and the line.

    Documents are counted from 0, blank ones included, as they stand in the stream; lines
    from 1; 0 stands for the source as a whole. *item* is the position in a ``List``, if
    the manifest came from one.
    """

    source: str
    index: int = 0
    line: int = 1
    item: int | None = None

    def __str__(self) -> str:
        if not self.line:
            return self.source
        item = "" if self.item is None else f", item {self.item + 1}"
        return f"{self.source}: document {self.index + 1} (line {self.line}{item})"


class ManifestError(ValueError):
    """A document that cannot be read: *problem* is what is wrong with it, *origin* where."""

    def __init__(self, origin: ManifestOrigin, problem: str) -> None:
        if len(problem) > LONGEST_PROBLEM:
            problem = f"{problem[:LONGEST_PROBLEM]}…"
        super().__init__(f"{origin}: {problem}")
        self.origin = origin
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Manifest:
    """An object as it was written, and where."""

    obj: JsonObject
    origin: ManifestOrigin


@dataclass(slots=True)
class Manifests:
    """What was read: objects in the order they were written, errors, and remarks."""

    objects: list[Manifest] = field(default_factory=list)
    errors: list[ManifestError] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    """What was accepted and is probably a mistake: keys that occur twice, if allowed."""

    def require(self) -> list[Manifest]:
        """Return the objects if all could be read; else raise the error, or a group of them."""
        if len(self.errors) == 1:
            raise self.errors[0]
        if self.errors:
            raise ExceptionGroup(f"{len(self.errors)} documents cannot be read", self.errors)
        return self.objects


def read_text(
    content: str | bytes,
    source: str,
    *,
    limits: ReadLimits | None = None,
    allow_duplicates: bool = False,
) -> Manifests:
    """Read a stream of YAML or JSON documents; *source* names it in errors.

    Lists (``kind: List``, or any kind that ends so and has ``items``) are replaced by their
    items, blank documents skipped. Keys that occur twice in a mapping are errors, or with
    *allow_duplicates* remarks, and then the last one counts.
    """
    reader = _Reader(Budget(limits or ReadLimits()), allow_duplicates)
    reader.read(content, source)
    return reader.manifests


def read_files(
    paths: Iterable[str | Path],
    *,
    stdin: BinaryIO | None = None,
    recursive: bool = False,
    limits: ReadLimits | None = None,
) -> Manifests:
    """Read files, and the ``.yaml``, ``.yml`` and ``.json`` files of directories, by name.

    ``-`` stands for *stdin*. A file that cannot be opened is an error like any other.
    """
    reader = _Reader(Budget(limits or ReadLimits()), allow_duplicates=False)
    for path in paths:
        if str(path) == "-" and stdin is not None:
            reader.read(stdin.read(reader.rest + 1), "standard input")
        else:
            reader.read_path(Path(path), recursive=recursive)
    return reader.manifests


def read_secret(
    data: Mapping[str, str | bytes],
    *,
    limits: ReadLimits | None = None,
    budget: Budget | None = None,
    allow_duplicates: bool = False,
) -> Manifests:
    """Read the ``data`` of a Secret, key by key in the order of their names.

    Several that are read together share a *budget* instead of having *limits* each.

    Values are base64 as the API has them, or bytes as they are. Those under a key that ends
    with ``.br`` are decompressed first. The key is the source that errors name; one that
    cannot be unpacked is one error.
    """
    reader = _Reader(budget or Budget(limits or ReadLimits()), allow_duplicates)
    for key in sorted(data):
        reader.read_value(key, data[key])
    return reader.manifests


@dataclass(slots=True)
class _Reader:
    """Collects what several sources hold, within one budget."""

    budget: Budget
    allow_duplicates: bool
    manifests: Manifests = field(default_factory=Manifests)

    @property
    def rest(self) -> int:
        """How many bytes may still be read."""
        return max(self.budget.limits.size - self.budget.size, 0)

    def read_value(self, key: str, value: str | bytes) -> None:
        try:
            content = base64.b64decode(value, validate=True) if isinstance(value, str) else value
            if key.endswith(_COMPRESSED):
                limits = self.budget.limits
                most = min(limits.unpacked, self.rest)
                content = unpack_brotli(content, replace(limits, size=most))
        except binascii.Error:
            self.fail(key, "not base64")
        except (CompressionError, LimitExceeded) as error:
            self.fail(key, str(error))
        else:
            self.read(content, key)

    def read_path(self, path: Path, *, recursive: bool) -> None:
        try:
            if path.is_dir():
                inside = path.rglob("*") if recursive else path.iterdir()
                files = sorted(f for f in inside if f.suffix in _SUFFIXES and f.is_file())
                if not files:
                    problem = "no .yaml, .yml or .json files in this directory"
                    self.fail(str(path), problem, line=0)
            else:
                files = [path]
            for file in files:
                with file.open("rb") as stream:
                    self.read(stream.read(self.rest + 1), str(file))
        except OSError as error:
            self.fail(str(path), error.strerror or str(error), line=0)

    def read(self, content: str | bytes, source: str) -> None:
        try:
            raw = content.encode() if isinstance(content, str) else content
            self.budget.take_size(len(raw))
            text = raw.decode().removeprefix("\ufeff")
        except UnicodeDecodeError as error:
            line = error.object.count(b"\n", 0, error.start) + 1
            self.fail(source, f"not UTF-8: byte {error.object[error.start]:#04x}", line)
        except UnicodeEncodeError:
            self.fail(source, "holds half of a surrogate pair")
        except LimitExceeded as error:
            self.fail(source, str(error))
        else:
            for document in read_documents(text, self.budget):
                self.take(document, source)

    def take(self, document: Document, source: str) -> None:
        origin = ManifestOrigin(source, document.index, document.line)
        problem = document.problem
        if not problem and document.value is not None and not isinstance(document.value, dict):
            problem = f"{_noun(document.value)} instead of an object"
        for twice in document.duplicates[:_MOST_REMARKS]:
            where = ManifestOrigin(source, document.index, twice.line)
            remark = f"key {twice.key[:_LONGEST_KEY]!r} occurs twice"
            if self.allow_duplicates:
                self.manifests.remarks.append(f"{where}: {remark}; the last one counts")
            else:
                origin, problem = where, remark
                break
        if problem:
            self.manifests.errors.append(ManifestError(origin, problem))
        elif document.value is not None:
            self.expand(document.value, origin)

    def expand(self, obj: JsonObject, origin: ManifestOrigin) -> None:
        """Keep an object, or the items of a list."""
        if not _is_list(obj):
            self.manifests.objects.append(Manifest(obj, origin))
            return
        for position, item in enumerate(_items(obj)):
            where = ManifestOrigin(origin.source, origin.index, origin.line, position)
            if isinstance(item, dict):
                self.expand(item, where)
            elif item is not None:
                problem = f"{_noun(item)} instead of an object"
                self.manifests.errors.append(ManifestError(where, problem))

    def fail(self, source: str, problem: str, line: int = 1) -> None:
        self.manifests.errors.append(ManifestError(ManifestOrigin(source, 0, line), problem))


def _is_list(obj: JsonObject) -> bool:
    kind = obj.get("kind")
    return isinstance(kind, str) and kind.endswith("List") and isinstance(obj.get("items"), list)


def _items(obj: JsonObject) -> Iterator[Any]:
    """Yield the items of a list; those of a ``ConfigMapList`` may leave out their kind."""
    kind = str(obj["kind"]).removesuffix("List")
    for item in obj["items"]:
        if kind and isinstance(item, dict) and "kind" not in item:
            yield {"apiVersion": obj.get("apiVersion"), "kind": kind, **item}
        else:
            yield item


def _noun(value: Any) -> str:
    match value:
        case list():
            return "a list"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case _:
            return "text"
