import pytest

from certwright.operators.discoveryservice.config.envoys.older import older_envoys, release_of
from certwright.xds.observations import ShownCertificate
from certwright.xds.snapshot import NodeKey


def envoy(agent: str, node: str = "gateway") -> ShownCertificate:
    return ShownCertificate(NodeKey("shop", node), "10.0.0.7:1", "1", agent)


@pytest.mark.parametrize(
    ("text", "release"),
    [("envoy 1.40.0", (1, 40)), ("1.9.2", (1, 9)), ("envoy", None), ("", None), ("v3", None)],
)
def test_the_release_of_a_version(text: str, release: tuple[int, int] | None) -> None:
    assert release_of(text) == release


def test_one_envoy_of_each_older_version_is_named() -> None:
    shown = [envoy("envoy 1.39.1"), envoy("envoy 1.39.1", "b"), envoy("envoy 1.9.0")]
    newer = [envoy("envoy 1.40.3"), envoy("envoy 1.41.0"), envoy("a proxy")]
    assert older_envoys([*shown, *newer], "1.40.0") == {
        "envoy 1.39.1": shown[0],
        "envoy 1.9.0": shown[2],
    }


def test_of_a_schema_of_no_known_version_none_is_older() -> None:
    assert older_envoys([envoy("envoy 1.0.0")], "") == {}
