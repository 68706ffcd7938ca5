"""What a replica says of the versions that its Envoys run, as an annotation of its Lease; pure."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct, field

from certwright.api.envoyconfigs import GROUP
from certwright.kube import JsonObject, Key
from certwright.operators.discoveryservice.replica import annotation_of
from certwright.xds.snapshot import NodeKey

REPORT: Final = f"{GROUP}/envoys-report"
"""The annotation of a Lease that holds the report of the pod that holds the Lease."""
MOST_BYTES: Final = 100_000
"""How long a report gets: the annotations of an object share 256 KiB."""

EnvoyNumber = Annotated[int, Meta(ge=0)]


class CountReport(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """How many Envoys of one replica run which version."""

    envoys: dict[str, dict[str, dict[str, EnvoyNumber]]] = field(default_factory=dict)
    """By namespace, node-id and version."""
    omitted: EnvoyNumber = 0
    """How many nodes the report has no room for."""

    def of(self, node: NodeKey) -> Mapping[str, int]:
        """Return how many Envoys of a node run which version."""
        return self.envoys.get(node.namespace, {}).get(node.node_id, {})

    @property
    def nodes(self) -> Iterable[NodeKey]:
        """The nodes of which it tells."""
        return (NodeKey(namespace, one) for namespace, of in self.envoys.items() for one in of)


def make_count_report(counts: Mapping[NodeKey, Mapping[str, int]]) -> CountReport:
    """Return the report of a replica, of as many nodes as it has room for."""
    envoys: dict[str, dict[str, dict[str, int]]] = {}
    omitted, room = 0, MOST_BYTES
    for node in sorted(one for one, found in counts.items() if found):
        versions = dict(sorted(counts[node].items()))
        room -= len(msgspec.json.encode((*node, versions)))
        if room < 0:
            omitted += 1
        else:
            envoys.setdefault(node.namespace, {})[node.node_id] = versions
    return CountReport(envoys=envoys, omitted=omitted)


def encode_count_report(report: CountReport) -> str:
    """Return a report as the text of an annotation."""
    return msgspec.json.encode(report, order="sorted").decode()


def read_count_report(lease: JsonObject) -> CountReport:
    """Return the report of a Lease; an empty one if it has none that can be read."""
    text = annotation_of(lease, REPORT)
    try:
        return CountReport() if text is None else msgspec.json.decode(text, type=CountReport)
    except (msgspec.DecodeError, ValueError):
        return CountReport()


def changed_nodes(before: CountReport, after: CountReport) -> list[NodeKey]:
    """Return the nodes of which two reports tell different things."""
    return [
        node for node in sorted({*before.nodes, *after.nodes}) if before.of(node) != after.of(node)
    ]


def counts_elsewhere(
    node: NodeKey, reports: Mapping[Key, CountReport], ready: Iterable[Key], own: Key
) -> Counter[str]:
    """Return how many Envoys of a node run which version at other replicas.

    Replicas count while their pods are *ready*: the report of one that is gone may stay for a
    while, and its Envoys have connected to another.
    """
    found: Counter[str] = Counter()
    for pod in ready:
        if pod != own and pod in reports:
            found.update(reports[pod].of(node))
    return found
