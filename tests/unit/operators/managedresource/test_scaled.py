from typing import Any

import pytest

from certwright.apply import ObjectRef
from certwright.operators.managedresource.inventory import Equivalences
from certwright.operators.managedresource.policy import scale_targets


def autoscaler(**target: Any) -> dict[str, Any]:
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"namespace": "x", "name": "hpa"},
        "spec": {"scaleTargetRef": target},
    }


WEB = autoscaler(apiVersion="apps/v1", kind="Deployment", name="web")


@pytest.mark.parametrize(
    ("ref", "scaled"),
    [
        (ObjectRef("apps/v1", "Deployment", "x", "web"), True),
        (ObjectRef("apps/v1beta1", "Deployment", "x", "web"), True),
        (ObjectRef("extensions/v1beta1", "Deployment", "x", "web"), True),
        (ObjectRef("apps/v1", "StatefulSet", "x", "web"), False),
        (ObjectRef("apps/v1", "Deployment", "y", "web"), False),
        (ObjectRef("apps/v1", "Deployment", "x", "db"), False),
    ],
)
def test_what_is_scaled(ref: ObjectRef, *, scaled: bool) -> None:
    assert (ref in scale_targets([WEB], Equivalences.of())) is scaled


@pytest.mark.parametrize(
    "bad",
    [
        autoscaler(apiVersion="a/b/c", kind="Deployment", name="db"),
        autoscaler(apiVersion="", kind="Deployment", name="db"),
        autoscaler(kind="Deployment", name="db"),
        {"metadata": {"namespace": "x", "name": "hpa"}},
        {"metadata": {"namespace": "x", "name": "hpa"}, "spec": "nonsense"},
    ],
)
def test_one_that_makes_no_sense_harms_no_other(bad: dict[str, Any]) -> None:
    scaled = scale_targets([bad, WEB], Equivalences.of())
    assert ObjectRef("apps/v1", "Deployment", "x", "web") in scaled
    assert len(scaled.targets) == 1
    (warning,) = scaled.warnings
    assert "x/hpa names a target that is none" in warning
