"""ConversionReview as bytes, and what an API server would refuse about an answer."""

from typing import Any

import orjson
import pytest

from certwright.kube import BadRequest
from certwright.kube.reviews.conversion import (
    conversion_problem,
    read_conversion_review,
    write_converted,
    write_not_converted,
)

OBJECT = {"apiVersion": "demo/v1", "kind": "A", "metadata": {"name": "a", "uid": "1"}}


def review(**request: Any) -> bytes:
    return orjson.dumps(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "ConversionReview",
            "request": {
                "uid": "u",
                "desiredAPIVersion": "demo/v2",
                "objects": [OBJECT],
                **request,
            },
        }
    )


def test_a_review_is_read_and_answered() -> None:
    request = read_conversion_review(review())
    assert request.desired_api_version == "demo/v2"
    assert request.decoded() == [OBJECT]
    converted = orjson.loads(write_converted(request, [OBJECT]))["response"]
    assert converted == {"uid": "u", "result": {"status": "Success"}, "convertedObjects": [OBJECT]}
    failed = orjson.loads(write_not_converted(request, "no"))["response"]
    assert failed["result"] == {"status": "Failure", "message": "no"}


@pytest.mark.parametrize("request_", [{"uid": ""}, {"objects": {}}, {"desiredAPIVersion": None}])
def test_a_request_that_says_too_little_is_refused(request_: Any) -> None:
    with pytest.raises(BadRequest, match="ConversionReview"):
        read_conversion_review(review(**request_))


@pytest.mark.parametrize(
    ("converted", "problem"),
    [
        ([{**OBJECT, "apiVersion": "demo/v2"}], ""),
        ([], "1 objects were to be converted, 0 were returned"),
        ([OBJECT], "object 0 is in 'demo/v1' instead of 'demo/v2'"),
        ([{**OBJECT, "apiVersion": "demo/v2", "kind": "B"}], "object 0 is of another kind"),
        (
            [{**OBJECT, "apiVersion": "demo/v2", "metadata": {"name": "b", "uid": "1"}}],
            "object 0 has another name than before",
        ),
    ],
)
def test_what_an_api_server_would_refuse_is_named(converted: Any, problem: str) -> None:
    found = conversion_problem([OBJECT], converted, "demo/v2")
    assert found.startswith(problem)
    assert bool(found) == bool(problem)
