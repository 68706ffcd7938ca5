"""Conditions of webhook configurations."""

import pytest

from certwright.apiserver.cel.conditions import MatchCondition, condition_problem
from certwright.apiserver.cel.expressions import ExpressionError

REQUEST = {"operation": "DELETE", "name": "a"}


def test_variables() -> None:
    values = {"object": None, "oldObject": {"metadata": {"name": "a"}}, "request": REQUEST}
    assert MatchCondition("oldObject.metadata.name == request.name").holds(values)
    assert MatchCondition("object == null").holds(values)
    assert not MatchCondition("request.operation == 'CREATE'").holds(values)


def test_objects_that_are_not_there() -> None:
    values = {"object": None, "oldObject": {}, "request": REQUEST}
    with pytest.raises(ExpressionError) as failed:
        MatchCondition("object.metadata.name == 'a'").holds(values)
    assert str(failed.value) == (
        "expression 'object.metadata.name == 'a'' resulted in error: no such key: metadata"
    )


def test_problems() -> None:
    assert not condition_problem("object.metadata.name == 'a'")
    assert condition_problem("object.metadata.name") == "must evaluate to bool but got dyn"
    assert "undeclared reference to 'nothing'" in condition_problem("nothing == 1")
