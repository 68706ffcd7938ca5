"""CEL conditions on requests: the ``matchConditions`` of webhook configurations."""

import re
from collections.abc import Mapping
from typing import Any, Final

from certwright.apiserver.cel.expressions import Expression, ExpressionError
from certwright.apiserver.schema.schema import Schema

_FIELD: Final = re.compile(r"\s*(?:object|oldObject)(?:\.\w+)*\s*")
VARIABLES: Final = frozenset({"object", "oldObject", "request"})
"""What a condition can speak about."""


class MatchCondition:
    """An expression about a request that must be true."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._expression = Expression(source, Schema(), variables=VARIABLES)

    def holds(self, variables: Mapping[str, Any]) -> bool:
        """Return whether it is true; `ExpressionError` if that cannot be told."""
        try:
            return bool(self._expression.result(variables) is True)
        except ExpressionError as error:
            why = self._missing(variables) or str(error)
            raise ExpressionError(f"expression '{self.source}' resulted in error: {why}") from None

    def _missing(self, variables: Mapping[str, Any]) -> str:
        """Return which field of an object that is not there is asked for; empty if none."""
        for name in ("object", "oldObject"):
            found = re.search(rf"(?<![\w.]){name}\.(\w+)", self.source)
            if found and variables.get(name) is None:
                return f"no such key: {found[1]}"
        return ""


def condition_problem(source: str) -> str:
    """Return why an expression cannot be a condition; empty if it can."""
    try:
        MatchCondition(source)
    except ExpressionError as error:
        return f"compilation failed: {error}"
    if _FIELD.fullmatch(source):  # of more than fields the type is not known here
        return "must evaluate to bool but got dyn"
    return ""
