"""Command lines of marin3r, as the manifests of both its eras have them."""

import pytest

from certwright.cli.discoveryservice.process import service_name
from certwright.cli.errors import UsageError
from certwright.cli.manager.flags import parse
from certwright.cli.marin3r.words import our_words

PATHS = [
    "--server-certificate-path=/etc/marin3r/tls/server",
    "--ca-certificate-path=/etc/marin3r/tls/ca",
]
OPERATOR = ["manager", "--operators=discoveryservice"]


@pytest.mark.parametrize(
    ("words", "ours"),
    [
        (["--discovery-service", *PATHS], ["discovery-service", *PATHS]),
        (["--debug", "--discovery-service=true"], ["discovery-service", "--debug"]),
        (["--discovery-service=false"], [*OPERATOR, "--metrics-addr=:8383"]),
        ([], [*OPERATOR, "--metrics-addr=:8383"]),
        (
            ["--metrics-addr=:9", "--enable-leader-election", "--debug"],
            [*OPERATOR, "--metrics-addr=:9", "--enable-leader-election", "--log-level=debug"],
        ),
        (["operator", "--leader-elect"], [*OPERATOR, "--metrics-addr=:8080", "--leader-elect"]),
        (["discovery-service", "--debug"], ["discovery-service", "--debug"]),
        (["shutdown-manager", "--port", "8090"], ["shutdown-manager", "--port", "8090"]),
        (["discovery-service", "--debug=true", *PATHS], ["discovery-service", "--debug", *PATHS]),
        (["discovery-service", "--debug=False", *PATHS], ["discovery-service", *PATHS]),
        (["--discovery-service", "--debug=1"], ["discovery-service", "--debug"]),
        (
            ["operator", "--debug=true", "--metrics-bind-address=:1"],
            [*OPERATOR, "--log-level=debug", "--metrics-bind-address=:1"],
        ),
        (["operator", "--debug=false"], [*OPERATOR, "--metrics-addr=:8080"]),
        (["operator", "--debug=maybe"], [*OPERATOR, "--metrics-addr=:8080", "--debug=maybe"]),
        (
            ["--debug", "--metrics-bind-address", ":1", "operator", "--leader-elect"],
            [*OPERATOR, "--log-level=debug", "--metrics-bind-address", ":1", "--leader-elect"],
        ),
        (
            ["webhook", "--tls-dir=/certificates", "--debug=true"],
            ["discovery-webhook", "--tls-dir=/certificates", "--debug"],
        ),
        (["-debug", "-discovery-service"], ["discovery-service", "--debug"]),
        (["-metrics-addr", ":9"], [*OPERATOR, "--metrics-addr", ":9"]),
        (
            [
                "shutdown-manager", "--debug", "--port=1", "--envoy-admin-address",
                "http://localhost:9902", "--check-drain-interval=5", "--min-open-connections", "2",
            ],
            ["shutdown-manager", "--port=1", "--admin-port=9902"],
        ),
    ],
)  # fmt: skip
def test_each_command_has_one_of_ours(words: list[str], ours: list[str]) -> None:
    assert our_words(words) == ours


def test_what_is_done_elsewhere_is_explained() -> None:
    with pytest.raises(UsageError, match=r"marin3r init-manager: .*create the Pod anew"):
        our_words(["init-manager", "--some-flag"])


def test_an_envoy_elsewhere_cannot_be_drained() -> None:
    with pytest.raises(UsageError, match="http://localhost:9901"):
        our_words(["shutdown-manager", "--envoy-admin-address=http://10.0.0.1:9901"])


def test_an_unknown_command_is_refused() -> None:
    with pytest.raises(UsageError, match="'manager'; it has operator, discovery-service"):
        our_words(["manager"])


def test_the_manager_reads_the_flags_of_both_operators() -> None:
    _, *later = our_words(
        [
            "operator",
            "--metrics-bind-address=:1",
            "--health-probe-bind-address=:2",
            "--leader-elect",
        ]
    )
    options = parse(later)
    assert (options.metrics, options.probes, options.leader_elect) == (":1", ":2", True)
    assert options.operators == ("discoveryservice",)
    _, *earlier = our_words(["--metrics-addr", ":3", "--enable-leader-election=false", "--debug"])
    options = parse(earlier)
    assert (options.metrics, options.leader_elect, options.log_level) == (":3", False, "debug")


@pytest.mark.parametrize(
    ("pod", "name"),
    [
        ("marin3r-instance-7c9d8b6f5-x2x4z", "instance"),
        ("marin3r-my-envoys-7c9d8b6f5-x2x4z", "my-envoys"),
    ],
)
def test_a_pod_knows_its_discovery_service(pod: str, name: str) -> None:
    assert service_name(pod) == name


@pytest.mark.parametrize("pod", ["", "other-7c9d8b6f5-x2x4z", "marin3r-instance", "localhost"])
def test_a_process_elsewhere_has_to_be_told(pod: str) -> None:
    with pytest.raises(UsageError, match="--name"):
        service_name(pod)
