"""CEL conditions on requests: the ``matchConditions`` of webhook configurations."""

from collections.abc import Mapping
from typing import Any, Final

from certwright.apiserver.cel.expressions import Expression, ExpressionError
from certwright.apiserver.schema.schema import Schema

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
            raise ExpressionError(
                f"expression '{self.source}' resulted in error: {error}"
            ) from None
