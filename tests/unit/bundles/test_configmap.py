import base64
from typing import Any

import pytest
from tests.support.bundles.small import small_bundle

from certwright.bundles.bundle import MOST_BYTES, encode
from certwright.bundles.configmap import from_config_map, to_config_map
from certwright.bundles.errors import BundleCorrupt, BundleTooLarge

DATA = encode(small_bundle())
LABEL = "bundles.certwright.dev/version"


def test_a_bundle_goes_through_a_config_map() -> None:
    obj = to_config_map(DATA, "operators")
    digest = small_bundle().digest[:10]
    assert obj["metadata"] == {
        "name": f"cert-manager-v9.9.1-{digest}",
        "namespace": "operators",
        "labels": {LABEL: "v9.9.1"},
    }
    assert obj["immutable"] is True
    packed = from_config_map(obj)
    assert packed.source == f"ConfigMap operators/cert-manager-v9.9.1-{digest}"
    assert packed.unpack() == small_bundle()


def test_what_is_no_bundle_is_not_published() -> None:
    with pytest.raises(BundleCorrupt, match="not a bundle"):
        to_config_map(b"nonsense", "operators")


@pytest.mark.parametrize(
    ("change", "error", "problem"),
    [
        ({"binaryData": None}, BundleCorrupt, "it has no binaryData.bundle"),
        ({"binaryData": {"bundle": 1}}, BundleCorrupt, "it has no binaryData.bundle"),
        ({"binaryData": {"bundle": "%"}}, BundleCorrupt, "is not base64"),
        ({"binaryData": {"bundle": "é"}}, BundleCorrupt, "is not base64"),
        ({"binaryData": {"bundle": "QQ=="}}, BundleCorrupt, "not a bundle"),
        ({"binaryData": {"bundle": "A" * MOST_BYTES * 2}}, BundleTooLarge, "at most"),
        (
            {"binaryData": {"bundle": base64.b64encode(encode(small_bundle("v9.9.2"))).decode()}},
            BundleCorrupt, "it holds v9.9.2, its label says v9.9.1",
        ),
    ],
)  # fmt: skip
def test_bad_config_maps(change: Any, error: type[BundleCorrupt], problem: str) -> None:
    obj = {**to_config_map(DATA, "operators"), **change}
    with pytest.raises(error, match=r"^ConfigMap operators/cert-manager-v9\.9\.1-") as refused:
        from_config_map(obj)
    assert problem in str(refused.value)
    assert str(refused.value).endswith("certwright bundle build v9.9.1")


def test_a_config_map_without_anything() -> None:
    with pytest.raises(BundleCorrupt, match="build VERSION"):
        from_config_map({"metadata": None})
