"""The spec of an issuer, as its author declares it and as it stands in YAML.

::

    @dataclass(frozen=True)
    class Spec:
        token: SecretKey       # in YAML {name: …, key: …}; in Python the text itself
        authority: SecretData  # in YAML {name: …}; in Python all its keys and bytes

The author writes a dataclass or a Struct with Python's names and Secrets as plain types; the
API has camelCase and references. `SpecType` knows both sides: its ``wire`` type makes the
schema, `SpecType.references` finds the Secrets, `SpecType.build` makes the author's value. A
namespaced issuer finds Secrets in its own namespace, a cluster issuer in the cluster resource
namespace, never elsewhere. When one changes, the issuer is checked again.
"""

import dataclasses
import re
import types
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import (
    Annotated,
    Any,
    Generic,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
from msgspec import Struct

from certwright.kube import JsonObject
from certwright.kube.schemas.check import SchemaError
from certwright.kube.schemas.markers import markers_of
from certwright.kube.schemas.structural import structural_schema

S = TypeVar("S")


class SecretKey(str):
    """The text of one key of a Secret, without surrounding white space. Its repr hides it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "SecretKey(…)"


class NoSuchKey(KeyError):
    """A Secret lacks a key. Unlike that of a KeyError its text is a sentence, for statuses."""

    def __str__(self) -> str:
        return str(self.args[0])


class SecretData(Mapping[str, bytes]):
    """The keys of one Secret with their bytes. Its repr shows the keys only."""

    def __init__(self, name: str, data: Mapping[str, bytes]) -> None:
        self.name = name
        self._data = dict(data)

    def __getitem__(self, key: str) -> bytes:
        try:
            return self._data[key]
        except KeyError:
            raise NoSuchKey(f'secret "{self.name}" has no key "{key}"') from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def __repr__(self) -> str:
        return f"SecretData({self.name!r}, keys={sorted(self._data)})"


class SecretKeyReference(Struct, frozen=True):
    """Where a text is found: a Secret and one of its keys."""

    name: str
    key: str


class SecretDataReference(Struct, frozen=True):
    """Which Secret is meant."""

    name: str


Reference: TypeAlias = SecretKeyReference | SecretDataReference
Resolve: TypeAlias = Callable[[Reference], SecretKey | SecretData]

_REFERENCES: Mapping[type, type[Struct]] = {
    SecretKey: SecretKeyReference,
    SecretData: SecretDataReference,
}
_UNIONS = (Union, types.UnionType)


class SpecError(ValueError):
    """A spec does not have the shape its type declares; the message names the field."""


class SpecType(Generic[S]):
    """The spec of one kind, on both sides."""

    def __init__(self, author: type[S]) -> None:
        """Take an author's type apart; `TypeError` if it cannot be the spec of a kind."""
        if not _is_record(author):
            raise TypeError(
                f"{author!r} is not a spec: use a dataclass or a msgspec Struct, write\n\n"
                f"    @dataclass(frozen=True)\n    class Spec:\n"
            )
        _refuse_unannotated(author)
        _refuse_recursion(author)
        self.author = author
        self.wire: type[Struct] = _wire(author)
        self.uses_secrets = _points(author)
        _refuse_without_schema(author, self.wire)

    def read(self, spec: bytes) -> Struct:
        """Read a spec as it stands in an object; `SpecError` if it has another shape."""
        try:
            return msgspec.json.decode(spec, type=self.wire)
        except msgspec.DecodeError as error:
            what, _, path = str(error).partition(" - at `$")
            where = f"spec{path.rstrip('`')}"
            raise SpecError(f"{where}: {what}") from error

    def references(self, spec: Struct) -> Iterator[Reference]:
        """Yield what a spec points to."""
        yield from _references(spec)

    def build(self, spec: Struct, resolve: Resolve) -> S:
        """Return the author's value, references resolved; `SpecError` if its type refuses it."""
        try:
            built: S = _build(self.author, spec, resolve)
        except (TypeError, ValueError) as error:
            raise SpecError(f"spec: {error}") from error
        return built

    def render(self, spec: S) -> JsonObject:
        """Return an author's value as it stands in YAML; it must not hold resolved Secrets."""
        rendered: JsonObject = msgspec.to_builtins(_lower(self.author, spec))
        return rendered


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and (dataclasses.is_dataclass(kind) or issubclass(kind, Struct))


def _bare(kind: Any) -> Any:
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def _points(kind: Any) -> bool:
    """Return whether a type holds references, at any depth."""
    kind = _bare(kind)
    if isinstance(kind, type) and kind in _REFERENCES:
        return True
    if _is_record(kind):
        return any(_points(inner) for inner, _ in _fields(kind).values())
    return any(_points(inner) for inner in get_args(kind))


def _wire(kind: Any) -> Any:
    """Return the type of the same thing as it stands in YAML."""
    if get_origin(kind) is Annotated:
        inner, *extras = get_args(kind)
        return Annotated[(_wire(inner), *extras)]
    if isinstance(kind, type) and kind in _REFERENCES:
        return _REFERENCES[kind]
    if _is_record(kind):
        plain = issubclass(kind, Struct) and not _points(kind)
        return kind if plain else _wire_record(kind)
    arguments = get_args(kind)
    if not arguments or not any(_points(one) or _holds_dataclass(one) for one in arguments):
        return kind
    if get_origin(kind) in _UNIONS:
        return Union[tuple(_wire(one) for one in arguments)]  # noqa: UP007 - computed
    return get_origin(kind)[tuple(_wire(one) for one in arguments)]


def _holds_dataclass(kind: Any) -> bool:
    kind = _bare(kind)
    if dataclasses.is_dataclass(kind):
        return True
    return any(_holds_dataclass(one) for one in get_args(kind))


def _wire_record(kind: type) -> type[Struct]:
    fields: list[Any] = []
    for name, (hint, default) in _fields(kind).items():
        field = (name, _wire(hint))
        fields.append(field if default is None else (*field, _wire_default(hint, default)))
    namespace: dict[str, Any] = {"__doc__": author_doc(kind), "__module__": kind.__module__}
    if markers := markers_of(kind):
        namespace["__kube_markers__"] = markers
    return msgspec.defstruct(
        kind.__name__, fields, namespace=namespace, rename="camel", omit_defaults=True, kw_only=True
    )


def author_doc(kind: type) -> str | None:
    """Return the author's docstring, not the one that dataclass generates."""
    generated = dataclasses.is_dataclass(kind) and (kind.__doc__ or "").startswith(
        f"{kind.__name__}("
    )
    return None if generated else kind.__doc__


def _refuse_unannotated(kind: type) -> None:
    """Raise `TypeError` for an attribute without annotation: it looks like a field and is none."""
    declared = _hints(kind)
    for name, value in vars(kind).items():
        is_field_like = not callable(value) and not hasattr(type(value), "__get__")
        if not name.startswith("_") and is_field_like and name not in declared:
            shown = f"{name}: {type(value).__name__} = {value!r}"
            constant = f"{name}: ClassVar[{type(value).__name__}] = {value!r}"
            raise TypeError(
                f"{kind.__name__}.{name} has no annotation and would be no field of the spec: write"
                f" {shown}, or {constant} if it shall be none"
            )


def _refuse_recursion(kind: Any, outer: tuple[type, ...] = ()) -> None:
    """Raise `TypeError` for a type that contains itself."""
    kind = _bare(kind)
    if kind in outer:
        raise TypeError(
            f"{kind.__name__} contains itself, and a CustomResourceDefinition cannot say that:"
            " write the levels that are needed as types of their own"
        )
    if not _is_record(kind):
        for inner in get_args(kind):
            _refuse_recursion(inner, outer)
        return
    for inner, _ in _fields(kind).values():
        _refuse_recursion(inner, (*outer, kind))


def _refuse_without_schema(author: type, wire: type[Struct]) -> None:
    """Raise `TypeError` for a field that the API has no type for."""
    try:
        structural_schema(wire)
    except SchemaError as error:
        dot = "." if error.path else ": "
        raise TypeError(f"{author.__name__}{dot}{error}") from error


def _hints(kind: type) -> dict[str, Any]:
    """Return the annotations of a type as types; `TypeError` for one that cannot be found."""
    try:
        return get_type_hints(kind, include_extras=True)
    except NameError as error:  # annotations are texts until here: see `from __future__`
        raise TypeError(_unknown_type(kind, error.name or str(error))) from error


def _unknown_type(kind: type, missing: str) -> str:
    field = kind.__name__
    for name, hint in vars(kind).get("__annotations__", {}).items():
        if isinstance(hint, str) and re.search(rf"\b{re.escape(missing)}\b", hint):
            field = f"{kind.__name__}.{name}: {hint}"
            break
    ours = missing in {one.__name__ for one in _REFERENCES}
    source = "certwright.issuer" if ours else "…"
    return (
        f"{field}: there is no {missing} in the module {kind.__module__}: write, at its top and not"
        f" below `if TYPE_CHECKING`, from {source} import {missing}; if it is declared in the"
        " module, declare it outside of functions"
    )


@cache  # reading type hints takes longer than everything else about a spec
def _fields(kind: type) -> dict[str, tuple[Any, Callable[[], Any] | None]]:
    """Return the fields of a record: type, and what makes the default if there is one."""
    hints = _hints(kind)
    found: dict[str, tuple[Any, Callable[[], Any] | None]] = {}
    if dataclasses.is_dataclass(kind):
        for one in dataclasses.fields(kind):
            made: Callable[[], Any] | None = None
            if one.default_factory is not dataclasses.MISSING:
                made = one.default_factory
            elif one.default is not dataclasses.MISSING:
                made = _constant(one.default)
            found[one.name] = (hints[one.name], made)
        return found
    for field in msgspec.structs.fields(kind):
        made = None
        if field.default_factory is not msgspec.NODEFAULT:
            made = field.default_factory
        elif field.default is not msgspec.NODEFAULT:
            made = _constant(field.default)
        found[field.name] = (hints[field.name], made)
    return found


def _constant(value: Any) -> Callable[[], Any]:
    return lambda: value


def _wire_default(hint: Any, made: Callable[[], Any]) -> Any:
    value = made()
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return msgspec.field(default_factory=lambda: _lower(hint, made()))


def _lower(hint: Any, value: Any) -> Any:
    """Turn an author's value into the wire's."""
    hint = _bare(hint)
    if isinstance(value, SecretKey | SecretData):
        raise TypeError("a resolved Secret has no reference any more")
    if _is_record(hint) and _wire(hint) is not hint:
        inner = {name: _lower(t, getattr(value, name)) for name, (t, _) in _fields(hint).items()}
        return _wire(hint)(**inner)
    if isinstance(value, list | tuple):
        [item, *_] = get_args(hint) or (Any,)
        return [_lower(item, one) for one in value]
    if isinstance(value, dict):
        item = (get_args(hint) or (str, Any))[1]
        return {name: _lower(item, one) for name, one in value.items()}
    return value


def _references(value: Any) -> Iterator[Reference]:
    if isinstance(value, SecretKeyReference | SecretDataReference):
        yield value
    elif isinstance(value, Struct):
        for name in value.__struct_fields__:
            yield from _references(getattr(value, name))
    elif isinstance(value, dict):
        for one in value.values():
            yield from _references(one)
    elif isinstance(value, list | tuple | set | frozenset):
        for one in value:
            yield from _references(one)


def _build(hint: Any, value: Any, resolve: Resolve) -> Any:
    """Turn a wire's value into the author's."""
    hint = _bare(hint)
    if isinstance(value, SecretKeyReference | SecretDataReference):
        return resolve(value)
    if value is None or not isinstance(value, Struct | list | tuple | dict):
        return value
    if get_origin(hint) in _UNIONS:
        [hint] = [_bare(one) for one in get_args(hint) if one is not types.NoneType][:1]
    if isinstance(value, Struct):
        if isinstance(hint, type) and isinstance(value, hint):
            return value
        inner = {
            name: _build(t, getattr(value, name), resolve) for name, (t, _) in _fields(hint).items()
        }
        return hint(**inner)
    if isinstance(value, dict):
        item = (get_args(hint) or (str, Any))[1]
        return {name: _build(item, one, resolve) for name, one in value.items()}
    [item, *_] = get_args(hint) or (Any,)
    return type(value)(_build(item, one, resolve) for one in value)
