import pytest

from certwright.kube import JsonObject, Key
from certwright.operators.discoveryservice.connected.attendance import EnvoyId
from certwright.operators.discoveryservice.connected.report import (
    MOST_NAMED,
    REPORT,
    CertificateReport,
    LateEnvoys,
    make_report,
    read_report,
    report_lease,
)
from certwright.operators.discoveryservice.replica import ReplicaIdentity
from certwright.xds.snapshot import NodeKey

REPLICA = ReplicaIdentity("x", Key("infra", "pod-1"))
LARGEST_ANNOTATIONS = 256 * 1024


def late(namespace: str, *hosts: str, node: str = "gateway") -> list[EnvoyId]:
    return [EnvoyId(NodeKey(namespace, node), host) for host in hosts]


def test_a_report_comes_back_as_it_was_written() -> None:
    made = make_report({"a": "1", "b": "2"}, late("b", "10.0.0.7"), "5", "d1", settled=True)
    assert made == CertificateReport(
        settled=True,
        server="5",
        trusts="d1",
        shown={"a": "1"},
        late={"b": LateEnvoys(number=1, names=["Envoy b/gateway at 10.0.0.7"])},
    )
    lease = report_lease(REPLICA, made)
    assert lease["spec"] == {"holderIdentity": "pod-1"}
    assert lease["metadata"]["labels"]["app.kubernetes.io/instance"] == "x"
    assert "ownerReferences" not in lease["metadata"]
    assert read_report(lease) == made


def test_few_envoys_are_named_and_all_are_counted() -> None:
    hosts = [f"10.0.0.{number}" for number in range(MOST_NAMED + 5)]
    made = make_report(
        {"a": "1", "b": "1"}, late("a", *hosts) + late("b", "h"), "", "", settled=True
    )
    assert len(made.late["a"].names) == MOST_NAMED
    assert made.late["a"].number == MOST_NAMED + 5
    assert made.late["b"] == LateEnvoys(number=1, names=[])
    assert made.shown == {}


@pytest.mark.parametrize(
    ("node", "named"),
    [
        ("a\nb\x1b[2J", "Envoy shop/a\\nb\\x1b[2J at 10.0.0.7"),
        ("n" * 200, f"Envoy shop/{'n' * 88}… at 10.0.0.7"),
    ],
)
def test_names_are_short_and_printable(node: str, named: str) -> None:
    made = make_report({"shop": "1"}, late("shop", "10.0.0.7", node=node), "", "", settled=True)
    assert made.late["shop"].names == [named]


def test_the_largest_report_fits_into_an_annotation() -> None:
    asked = {f"{number:063}": "f" * 40 for number in range(2000)}
    envoys = [one for name in asked for one in late(name, "h" * 45, node="n" * 10_000)]
    for found in ([], envoys):
        made = make_report(asked, found, "f" * 40, "d" * 32, settled=True)
        assert len(made.shown) + len(made.late) == 1000
        written = report_lease(REPLICA, made)["metadata"]["annotations"][REPORT]
        assert len(written) < LARGEST_ANNOTATIONS


@pytest.mark.parametrize(
    "annotations", [None, {}, {REPORT: "no JSON"}, {REPORT: "[]"}, {REPORT: '{"shown": {"a": 1}}'}]
)
def test_what_cannot_be_read_is_no_report(annotations: JsonObject | None) -> None:
    assert read_report({"metadata": {"annotations": annotations}}) is None
