"""One YAML document to JSON values: libyaml's events, kubectl's meaning.

libyaml reports what it parses as events; the values are built here, because its own
constructors disagree with kubectl about scalars, keep the last of two equal keys silently, unfold
aliases without bound, and end the process on deep nesting.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

import yaml

from certwright.apply.manifests.limits import Budget, LimitExceeded
from certwright.apply.manifests.scalars import (
    Scalar,
    json_number,
    key_text,
    resolve_plain,
    resolve_tagged,
)

_LOADER: Final[Any] = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_SCALAR: Final = yaml.ScalarEvent
_ALIAS: Final = yaml.AliasEvent
_MAPPING_END: Final = yaml.MappingEndEvent
_MERGE_TAG: Final = "tag:yaml.org,2002:merge"


class DocumentError(ValueError):
    """A document cannot be read; *line* counts from 1 within it."""

    def __init__(self, problem: str, line: int) -> None:
        super().__init__(problem)
        self.problem = problem
        self.line = line


@dataclass(frozen=True, slots=True)
class DuplicateKey:
    """A key that occurs again in the same mapping."""

    key: str
    line: int


@dataclass(slots=True)
class _Anchor:
    """What an alias stands for, and what it costs to repeat it."""

    value: Any
    nodes: int
    characters: int
    height: int


def read_yaml(text: str, budget: Budget) -> tuple[Any, list[DuplicateKey]]:
    """Return the value of the only document in *text*, and the keys that occur twice in it.

    Of two equal keys the last one counts. An empty document is None. Raises `DocumentError` if the
    text is not YAML, holds what JSON cannot, or exceeds a limit.
    """
    try:
        # Not `yaml.parse`, which asks twice for each event: most of the time goes into them.
        builder = _Builder(_LOADER(text).get_event, budget)
        return builder.document(), builder.duplicates
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = ", ".join(part for part in (error.context, error.problem) if part)
        # At the end of the text libyaml points behind its last line.
        last = text.rstrip("\n").count("\n") + 1
        # Without its cause, whose text may show part of the document.
        raise DocumentError(problem, min(mark.line + 1, last) if mark else 1) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1 if error.position >= 0 else 1
        raise DocumentError(error.reason, line) from None


@dataclass(slots=True)
class _Builder:
    event: Callable[[], Any]
    """Returns the next event; the last one ends the stream."""
    budget: Budget
    duplicates: list[DuplicateKey] = field(default_factory=list)
    anchors: dict[str, _Anchor | None] = field(default_factory=dict)
    nodes: int = 0
    characters: int = 0
    deepest: int = 0

    def document(self) -> Any:
        value = None
        seen = False
        while not isinstance(event := self.event(), yaml.StreamEndEvent):
            if isinstance(event, yaml.DocumentStartEvent):
                if seen:
                    self.fail("a second document begins without a line of ---", event)
                seen = True
                value = self.value(self.event(), 1)
        return value

    def value(self, event: Any, depth: int) -> Any:
        try:
            if depth > self.deepest:
                self.budget.check_depth(depth)
                self.deepest = depth
            if isinstance(event, _ALIAS):
                return self.alias(event, depth)
            self.budget.take_nodes()
        except LimitExceeded as error:
            self.fail(str(error), event)
        if event.anchor is None:
            return self.fresh(event, depth)
        return self.anchored(event, depth)

    def fresh(self, event: Any, depth: int) -> Any:
        self.nodes += 1
        if isinstance(event, _SCALAR):
            self.characters += len(event.value)
            return self.scalar(event)
        if isinstance(event, yaml.MappingStartEvent):
            return self.mapping(depth)
        items = []
        while not isinstance(item := self.event(), yaml.SequenceEndEvent):
            items.append(self.value(item, depth + 1))
        return items

    def anchored(self, event: Any, depth: int) -> Any:
        """Build a value and remember it, with its measures, for its aliases."""
        self.anchors[event.anchor] = None  # in the making: it must not contain itself
        nodes, characters, deepest = self.nodes, self.characters, self.deepest
        self.deepest = depth
        value = self.fresh(event, depth)
        self.anchors[event.anchor] = _Anchor(
            value, self.nodes - nodes, self.characters - characters, self.deepest - depth
        )
        self.deepest = max(deepest, self.deepest)
        return value

    def alias(self, event: Any, depth: int) -> Any:
        if event.anchor not in self.anchors:
            self.fail("an alias without an anchor; quote texts that begin with *", event)
        anchor = self.anchors[event.anchor]
        if anchor is None:
            self.fail("the value of an anchor contains itself", event)
        self.budget.take_alias(anchor.nodes, anchor.characters)
        self.budget.check_depth(depth + anchor.height)
        self.deepest = max(self.deepest, depth + anchor.height)
        self.nodes += anchor.nodes
        self.characters += anchor.characters
        return _copy(anchor.value)

    def mapping(self, depth: int) -> dict[str, Any]:
        built: dict[str, Any] = {}
        own: set[str] = set()  # merged keys may be given again
        while not isinstance(event := self.event(), _MAPPING_END):
            if _is_merge(event):
                self.merge(built, self.event(), depth)
                continue
            key = self.key(event, depth)
            if key in own:
                self.duplicates.append(DuplicateKey(key, event.start_mark.line + 1))
            own.add(key)
            built[key] = self.value(self.event(), depth + 1)
        return built

    def merge(self, built: dict[str, Any], event: Any, depth: int) -> None:
        """Take over the fields of other mappings; the first of several wins, as in kubectl."""
        value = self.value(event, depth + 1)
        sources = value if isinstance(value, list) else [value]
        for source in reversed(sources):
            if not isinstance(source, dict):
                self.fail("<< takes a mapping or a list of mappings", event)
            built.update(source)

    def key(self, event: Any, depth: int) -> str:
        # As a key, a number keeps the way it was written: 1e6 is not 1000000.
        plain = isinstance(event, _SCALAR) and event.anchor is None
        if plain:
            self.count(event)
        key = self.raw(event) if plain else self.value(event, depth + 1)
        if isinstance(key, str):
            return key
        if isinstance(key, list | dict):
            self.fail("a list or mapping cannot be a key", event)
        try:
            return key_text(key)
        except ValueError as error:
            self.fail(str(error), event)

    def count(self, event: Any) -> None:
        self.nodes += 1
        self.characters += len(event.value)
        try:
            self.budget.take_nodes()
        except LimitExceeded as error:
            self.fail(str(error), event)

    def raw(self, event: Any) -> Scalar:
        try:
            if event.tag:
                return resolve_tagged(event.tag, event.value)
        except ValueError as error:
            self.fail(str(error), event)
        text: str = event.value
        return resolve_plain(text) if event.implicit[0] else text

    def scalar(self, event: Any) -> Scalar:
        value = self.raw(event)
        if type(value) is not int and type(value) is not float:
            return value
        try:
            return json_number(value)
        except ValueError as error:
            self.fail(str(error), event)

    def fail(self, problem: str, event: Any) -> NoReturn:
        raise DocumentError(problem, event.start_mark.line + 1)


def _is_merge(event: Any) -> bool:
    return (
        isinstance(event, _SCALAR)
        and event.value == "<<"
        and (event.tag == _MERGE_TAG or (event.tag is None and event.implicit[0]))
    )


def _copy(value: Any) -> Any:
    """Copy the value of an alias, so that changing one object does not change another."""
    if isinstance(value, dict):
        return {key: _copy(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_copy(part) for part in value]
    return value
