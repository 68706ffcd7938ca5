"""Compiled CEL expressions, on the library ``common-expression-language``.

The library parses and evaluates but does not check types, so compiling here also looks
for what Kubernetes would refuse when a rule is written: unknown variables, functions and
fields. Its work cannot be interrupted; `Expression.cost` bounds it beforehand.
"""

import re
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, Final

from certwright.apiserver.cel.functions import functions
from certwright.apiserver.cel.values import escape
from certwright.apiserver.schema.schema import Schema

# The package imports its own command line, which draws in half a terminal: a fifth of the time
# that `certwright up` takes to start. While the rest is imported, nothing stands in its place.
_NOTHING: Final = ModuleType("cel.cli")
sys.modules.setdefault("cel.cli", _NOTHING)
try:
    import cel as library
    from cel.stdlib import STDLIB_FUNCTIONS
except ImportError:  # the extra is not installed
    INSTALLED = False
else:
    INSTALLED = True
finally:
    if sys.modules["cel.cli"] is _NOTHING:
        del sys.modules["cel.cli"]

EXPRESSION_LIMIT: Final = 100_000
"""Characters of an expression, as in Kubernetes."""

_TYPES: Final = frozenset({
    "int", "uint", "double", "bool", "string", "bytes", "list", "map", "null_type", "type",
    "timestamp", "duration", "optional_type", "optional", "math", "sets", "lists", "strings",
    "base64", "format",
})  # fmt: skip
_CORE: Final = frozenset({
    "size", "contains", "startsWith", "endsWith", "matches", "has", "int", "uint", "double",
    "string", "bytes", "bool", "dyn", "type", "timestamp", "duration", "getFullYear", "getMonth",
    "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getHours", "getMinutes",
    "getSeconds", "getMilliseconds", "optional.of", "optional.none", "optional.ofNonZeroValue",
    "hasValue", "value", "orValue", "or", "all", "exists", "exists_one", "existsOne", "map",
    "filter", "none", "of", "ofNonZeroValue",
})  # fmt: skip
_SELF: Final = frozenset({"self", "oldSelf"})
_MACRO = re.compile(r"\.(?:all|exists|exists_one|existsOne|map|filter)\s*\(\s*(\w+)\s*,")
_STRINGS = re.compile(r"""r?("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')""")
_SELF_PATH = re.compile(r"(?<![\w.])(?:self|oldSelf)((?:\.\w+)+)(?!\w*\()")


class ExpressionError(ValueError):
    """An expression cannot be used."""


class Expression:
    """One expression about ``self`` and ``oldSelf``, or other *variables*, ready to evaluate."""

    def __init__(
        self,
        source: str,
        schema: Schema,
        *,
        optional_old: bool = False,
        variables: frozenset[str] = _SELF,
    ) -> None:
        self.source = source
        self._optional_old = optional_old
        bare = _STRINGS.sub('""', source)
        if not INSTALLED:
            raise ExpressionError("CEL rules need the extra: pip install 'certwright[cel]'")
        if len(source) > EXPRESSION_LIMIT:
            raise ExpressionError(f"expression code point size exceeds limit: {len(source)}")
        try:
            self._program = library.compile(source)
        except ValueError as error:
            text = str(error)
            report = text[text.find("ERROR:") :] if "ERROR:" in text else text
            raise ExpressionError(report.replace("\n| ", "\n | ")) from None
        self.uses_old = "oldSelf" in self._program.variables()
        self.depth = _macro_depth(bare)
        self._check_names(bare, variables)
        if not optional_old:
            _check_fields(source, bare, schema)
        used = set(self._program.functions())
        own = _available()
        self._context = library.Context(
            functions={name: own[name] for name in own if _is_used(name, used)}
        )

    def _check_names(self, bare: str, variables: frozenset[str]) -> None:
        known = variables | set(_MACRO.findall(bare)) | _TYPES
        for name in self._program.variables():
            if name not in known and not name.startswith("@"):
                raise ExpressionError(_report(self.source, name, "undeclared reference to"))
        available = _CORE | _available().keys()
        for name in self._program.functions():
            local = name.rpartition(".")[2]
            if (
                name.isidentifier()
                and name not in available
                and not any(known_name.endswith(f".{local}") for known_name in available)
            ):
                raise ExpressionError(_report(self.source, name, "undeclared reference to"))

    def evaluate(self, value: Any, old: Any, *, has_old: bool) -> Any:
        """Return the result; `ExpressionError` if the evaluation failed."""
        variables = {"self": value}
        if self.uses_old:
            variables["oldSelf"] = self._old(old, has_old=has_old)
        return self.result(variables)

    def result(self, variables: Mapping[str, Any]) -> Any:
        """Return the result for values of the variables; `ExpressionError` if that failed."""
        for name, value in variables.items():
            self._context.add_variable(name, value)
        try:
            return self._program.execute(self._context)
        except KeyError as error:
            raise ExpressionError(f"no such key: {error.args[0]}") from None
        except (TypeError, RuntimeError, ValueError, IndexError, ArithmeticError) as error:
            raise ExpressionError(str(error).partition("\n")[0]) from None

    def _old(self, old: Any, *, has_old: bool) -> Any:
        if not self._optional_old:
            return old
        optional = library.OptionalValue
        return optional.of(old) if has_old else optional.none()


def _available() -> dict[str, Callable[..., Any]]:
    return {**STDLIB_FUNCTIONS, **functions(library.OptionalValue)}


def _is_used(name: str, used: set[str]) -> bool:
    return name in used or name.rpartition(".")[2] in used


def _macro_depth(bare: str) -> int:
    """Return how deeply loops are nested: the exponent of the work."""
    depth = deepest = 0
    stack: list[bool] = []
    starts = {match.start() for match in _MACRO.finditer(bare)}
    opening = {bare.index("(", start) for start in starts}
    for index, char in enumerate(bare):
        if char == "(":
            stack.append(index in opening)
            depth += stack[-1]
            deepest = max(deepest, depth)
        elif char == ")" and stack:
            depth -= stack.pop()
    return deepest


def result_type(source: str, schema: Schema) -> str:
    """Return the type of an expression that only names a field, and empty for any other."""
    path = re.fullmatch(r"\s*self((?:\.\w+)*)\s*", source)
    node: Schema | None = schema if path else None
    for name in path[1].split(".")[1:] if path else ():
        names = (
            {escape(declared): child for declared, child in node.properties.items()} if node else {}
        )
        node = names.get(name)
    return node.type if node else ""


def _check_fields(source: str, bare: str, schema: Schema) -> None:
    """Refuse fields of ``self`` that the schema does not have."""
    for match in _SELF_PATH.finditer(bare):
        node: Schema | None = schema
        for name in match[1][1:].split("."):
            if node is None or not node.properties or node.preserve_unknown:
                break
            names = {escape(declared): child for declared, child in node.properties.items()}
            if name not in names:
                raise ExpressionError(_report(source, f".{name}", "undefined field"))
            node = names[name]


def _report(source: str, name: str, what: str) -> str:
    found = re.search(rf"(?<!\w){re.escape(name)}\b", source) if name[0] != "." else None
    column = (found.start() if found else max(source.find(name), 0)) + 1
    where = " (in container '')" if what.startswith("undeclared") else ""
    pointer = "." * (column - 1)
    shown = name.removeprefix(".")
    return f"ERROR: <input>:1:{column}: {what} '{shown}'{where}\n | {source}\n | {pointer}^"
