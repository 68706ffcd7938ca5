"""The state of the world, without what differs from run to run.

Two runs of a scenario ended alike when their `end_state` is equal: same objects, same
content. Instants, uids and versions are replaced by what they mean: an owner reference
says whom it points at, an observed generation says how far it is behind.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final

import orjson

from certwright.kube.objects import JsonObject, key_of

PASSING_KINDS: Final = frozenset({"Event", "Lease"})
"""Kinds that tell of the way and not of the end."""

_LONG: Final = {"CustomResourceDefinition": "spec", "ClusterRole": "rules"}
"""Fields of which a digest will do: they are long, and nearly always the same in all runs."""

_BOOTSTRAPPED: Final = "kubernetes.io/bootstrapping"
_VOLATILE: Final = frozenset(
    {"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink"}
)
_INSTANT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_SHORTEST_INSTANT: Final = len("2030-01-01T00:00:00Z")


def end_state(objects: Iterable[JsonObject], ignore: Sequence[str] = ()) -> dict[str, JsonObject]:
    """Return the comparable part of every object, by a readable name.

    *ignore* lists fields that may differ or be absent, as ``Kind.path.to.field``; ``*`` stands
    for any one step of the path.
    """
    kept = [obj for obj in objects if obj["kind"] not in PASSING_KINDS]
    names = {obj["metadata"]["uid"]: _name(obj) for obj in kept}
    ignored = [pattern.split(".") for pattern in ignore]
    state: dict[str, JsonObject] = {}
    for obj in sorted(kept, key=lambda obj: str(obj["metadata"].get("creationTimestamp"))):
        name = _name(obj)
        while name in state:  # several objects of one generateName
            name += "+"
        state[name] = _initial(obj, ignored) or _Comparable(obj, names, ignored).value()
    return state


def differences(expected: Mapping[str, JsonObject], actual: Mapping[str, JsonObject]) -> list[str]:
    """Return in one line each what *actual* lacks, has too much, or has otherwise."""
    if expected == actual:
        return []
    return list(_compare("", dict(expected), dict(actual)))


def _name(obj: JsonObject) -> str:
    key = key_of(obj)
    generated = obj["metadata"].get("generateName")
    name = f"{generated}*" if generated else key.name
    return f"{obj['kind']} {key.namespace}/{name}" if key.namespace else f"{obj['kind']} {name}"


class _Comparable:
    """One object on its way to its comparable form."""

    def __init__(
        self, obj: JsonObject, names: Mapping[str, str], ignored: Sequence[Sequence[str]]
    ) -> None:
        self._obj = obj
        self._names = names
        self._generation = obj["metadata"].get("generation", 0)
        self._ignored = [path[1:] for path in ignored if path[0] == obj["kind"]]

    def value(self) -> JsonObject:
        fields = {k: v for k, v in self._obj.items() if k != "metadata"}
        long = _LONG.get(self._obj["kind"])
        if long in fields:
            fields[long] = _digest(fields[long])
        result: JsonObject = self._walk(fields, ())
        metadata = {k: v for k, v in self._obj["metadata"].items() if k not in _VOLATILE}
        if "generateName" in metadata:
            metadata.pop("name")
        return {**result, "metadata": self._walk(metadata, ("metadata",))}

    def _walk(self, value: Any, path: tuple[str, ...]) -> Any:
        type_ = type(value)
        if type_ is str:
            return self._text(value, path)
        if type_ is dict:
            if self._ignored:
                value = {k: v for k, v in value.items() if not self._ignores((*path, k))}
            return {k: self._walk(v, (*path, k)) for k, v in value.items()}
        if type_ is list:
            if path[-1:] == ("conditions",):  # whose order only tells which came first
                value = sorted(value, key=lambda condition: str(condition.get("type")))
            return [self._walk(v, (*path, str(i))) for i, v in enumerate(value)]
        if type_ is int and path[-1] == "observedGeneration":
            behind = self._generation - value
            return f"<{behind} behind>" if behind else "<current>"
        return value

    def _ignores(self, path: tuple[str, ...]) -> bool:
        return any(_matches(pattern, path) for pattern in self._ignored)

    def _text(self, text: str, path: tuple[str, ...]) -> str:
        if len(text) >= _SHORTEST_INSTANT and _INSTANT.fullmatch(text):
            return "<instant>"
        if text in self._names:
            return f"<uid of {self._names[text]}>"
        if path[-1] == "uid":
            return "<uid of nothing>"
        return text


_INITIAL: Final[dict[tuple[int, ...], tuple[Any, JsonObject]]] = {}
"""Comparable roles and bindings by the identity of their parts, which are kept alive."""


def _initial(obj: JsonObject, ignored: Sequence[Sequence[str]]) -> JsonObject | None:
    """Return the comparable form of a role or binding that every server has from the start.

    Servers share all of them but uids and times. Dozens of them in each of thousands of runs
    took longer than what the scenarios are about.
    """
    metadata = obj["metadata"]
    if _BOOTSTRAPPED not in metadata.get("labels", ()):
        return None
    if any(path[0] == obj["kind"] for path in ignored):
        return None
    parts = [value for name, value in obj.items() if name != "metadata"]
    parts += [value for name, value in metadata.items() if name not in _VOLATILE]
    identity = tuple(map(id, parts))
    known = _INITIAL.get(identity)
    if known is None:
        if len(_INITIAL) >= _DIGESTS_LIMIT:
            _INITIAL.clear()
        known = _INITIAL[identity] = parts, _Comparable(obj, {}, ()).value()
    return known[1]


_DIGESTS: Final[dict[int, tuple[Any, str]]] = {}
"""Digests by the identity of what they are of, which is kept alive: servers that start alike
share it."""
_DIGESTS_LIMIT: Final = 1000


def _digest(value: Any) -> str:
    known = _DIGESTS.get(id(value))
    if known is None:
        text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
        known = (value, blake2b(text, digest_size=8).hexdigest())
        if len(_DIGESTS) >= _DIGESTS_LIMIT:
            _DIGESTS.clear()
        _DIGESTS[id(value)] = known
    return known[1]


def _matches(pattern: Sequence[str], path: Sequence[str]) -> bool:
    return len(pattern) == len(path) and all(
        step in ("*", name) for step, name in zip(pattern, path, strict=True)
    )


def _compare(where: str, expected: Any, actual: Any) -> Iterator[str]:
    if isinstance(expected, dict) and isinstance(actual, dict):
        for name in sorted(expected.keys() | actual.keys()):
            inner = f"{where}.{name}" if where else name
            if name not in actual:
                yield f"{inner}: missing, expected {_short(expected[name])}"
            elif name not in expected:
                yield f"{inner}: unexpected {_short(actual[name])}"
            else:
                yield from _compare(inner, expected[name], actual[name])
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for index, (left, right) in enumerate(zip(expected, actual, strict=True)):
            yield from _compare(f"{where}[{index}]", left, right)
    elif expected != actual:
        yield f"{where}: {_short(actual)}, expected {_short(expected)}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}…"
