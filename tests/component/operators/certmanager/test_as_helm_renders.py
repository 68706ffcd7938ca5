"""What a request renders to is what Helm makes of cert-manager's chart, given the same values.

Requests are random; a failure names the version and the seed.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import fields
from random import Random
from typing import Any

import pytest
from tests.support.bundles.released import released
from tests.support.certmanager.helmchart import Chart, unpack_chart
from tests.support.certmanager.helmdifferences import DIFFERENCES, differing
from tests.support.certmanager.helmrequests import (
    OF_ALL,
    OF_COMPONENTS,
    OF_IMAGES,
    OF_WEBHOOK,
    random_request,
)
from tests.support.certmanager.helmvalues import helm_values
from tests.support.certmanager.samplebundle import NEW

from certwright.bundles.catalogue import load
from certwright.operators.certmanager.render import render
from certwright.operators.certmanager.request import (
    ComponentRequest,
    Images,
    InstallRequest,
    WebhookRequest,
)

VERSIONS = ["v1.21.2", "v1.20.3", "v1.18.6", "v1.16.5", "v1.14.7", "v1.12.10", "v1.10.2", "v1.8.2"]
MANY = 28
"""Seeds for each version: 224 pairs."""

_DEFAULTS: dict[type[Any], Any] = {
    InstallRequest: InstallRequest(version="v1.21.2"),
    ComponentRequest: ComponentRequest(),
    Images: Images(),
    WebhookRequest: WebhookRequest(),
}
Charts = Callable[[str], Chart]


@pytest.fixture(scope="session")
def charts(tmp_path_factory: pytest.TempPathFactory) -> Charts:
    """Charts by version, each unpacked once."""
    known: dict[str, Chart] = {}

    def chart(version: str) -> Chart:
        if version not in known:
            known[version] = unpack_chart(version, tmp_path_factory.mktemp("chart") / version)
        return known[version]

    return chart


def compare(chart: Chart, request: InstallRequest, *, definitions: bool) -> list[str]:
    rendered = render(request, released(chart.version), load())
    assert not rendered.problems
    ours = [
        declared.obj
        for declared in rendered.objects()
        if definitions or declared.ref.kind != "CustomResourceDefinition"
    ]
    values = helm_values(request, chart.knows)
    return differing(ours, chart.render(values, request.namespace, definitions=definitions))


def check(chart: Chart, seed: int, *, definitions: bool = False) -> None:
    rng = Random(f"{chart.version} {seed}")  # noqa: S311 - no secret
    request = random_request(chart.version, chart.knows, rng)
    found = compare(chart, request, definitions=definitions)
    assert not found, f"{chart.version}, seed {seed}:\n" + "\n".join(found[:20])


@pytest.mark.parametrize("version", VERSIONS[:2])
def test_without_wishes(charts: Charts, version: str) -> None:
    assert compare(charts(version), InstallRequest(version=version), definitions=True) == []


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("version", VERSIONS[:2])
def test_with_random_wishes(charts: Charts, version: str, seed: int) -> None:
    check(charts(version), seed)


@pytest.mark.real
@pytest.mark.timeout(900)
@pytest.mark.parametrize("version", VERSIONS)
def test_with_many_random_wishes(charts: Charts, version: str) -> None:
    for seed in range(5, 5 + MANY):
        check(charts(version), seed, definitions=seed % 7 == 0)


def _parts(request: InstallRequest) -> list[Any]:
    return [request, request.webhook, request.images, *request.components.values()]


def test_wishes_are_often_different() -> None:
    """Comparing requests that ask for nothing would show nothing."""
    requests = [random_request("v1.21.2", lambda _: True, Random(seed)) for seed in range(50)]  # noqa: S311
    asked = {
        field.name
        for request in requests
        for part in _parts(request)
        for field in fields(part)
        if getattr(part, field.name) != getattr(_DEFAULTS[type(part)], field.name)
    }
    wishes = {*OF_ALL, *OF_COMPONENTS, *OF_IMAGES, *OF_WEBHOOK, "flags", "network_policy"}
    assert wishes <= asked


def test_every_difference_says_why() -> None:
    assert all((difference.__doc__ or "").strip() for difference in DIFFERENCES)


def test_differences_are_found() -> None:
    """The comparison would be worthless if the declared differences hid all others."""
    ours = [obj for obj in NEW.objects if obj["kind"] != "Namespace"]
    assert differing(ours, NEW.objects) == []
    for number, obj in enumerate(ours):
        changed = deepcopy(obj)
        changed["metadata"]["labels"] = {"a": "b"}
        assert differing([*ours[:number], changed, *ours[number + 1 :]], ours)
        assert differing([*ours[:number], *ours[number + 1 :]], ours)
