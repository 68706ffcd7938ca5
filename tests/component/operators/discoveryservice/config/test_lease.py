"""One Lease carries what two parts of a pod report, on either server."""

from certwright.kube.kinds import Lease
from certwright.operators.discoveryservice.config.envoys.countreport import (
    REPORT,
    encode_count_report,
    make_count_report,
    read_count_report,
)
from certwright.operators.discoveryservice.connected.report import (
    CertificateReport,
    read_report,
    report_lease,
)
from certwright.operators.discoveryservice.replica import ReplicaIdentity
from certwright.testkit import Cluster
from certwright.xds.snapshot import NodeKey


async def test_each_report_stays_when_the_other_changes(cluster: Cluster) -> None:
    identity = ReplicaIdentity("x", cluster.key(Lease, "marin3r-x-1"))
    counts = make_count_report({NodeKey("shop", "gateway\n"): {"v1": 2}})
    lease = identity.lease(REPORT, encode_count_report(counts))
    for report in (CertificateReport(server="1"), CertificateReport(server="2")):
        await cluster.client.apply(report_lease(identity, report), field_manager="certwright")
        await cluster.client.apply(lease, field_manager="certwright-envoys")
    found = await cluster.get(Lease, "marin3r-x-1")
    assert read_report(found) == CertificateReport(server="2")
    assert read_count_report(found) == counts
    assert found["metadata"]["labels"] == identity.labels
