"""Values of flags that their program would refuse, or that do not fit each other."""

from collections.abc import Iterator, Mapping
from typing import Final

from certwright.kube.durations import parse_nanoseconds
from certwright.kube.names import dns_label_problems

PORTS: Final = ("secure-port", "healthz-port")
NAMESPACES: Final = (
    "leader-election-namespace",
    "cluster-resource-namespace",
    "dynamic-serving-ca-secret-namespace",
)
STRUCTURAL: Final = (
    *PORTS,
    *NAMESPACES,
    "dynamic-serving-ca-secret-name",
    "dynamic-serving-dns-names",
    "metrics-listen-address",
)
"""Flags that other objects follow: Services, probes, Roles, annotations."""
POD_NAMESPACE: Final = "$(POD_NAMESPACE)"
_POSITIVE: Final = (
    "concurrent-workers",
    "kube-api-burst",
    "kube-api-qps",
    "max-certificate-bundle-size",
    "max-certificate-chain-length",
    "max-certificate-size",
    "max-concurrent-challenges",
    "max-private-key-size",
)
_ELECTION: Final = "leader-election-"
_SHORTER: Final = (
    # the first must be shorter than the second
    (f"{_ELECTION}renew-deadline", f"{_ELECTION}lease-duration"),
    (f"{_ELECTION}retry-period", f"{_ELECTION}renew-deadline"),
)


_BUILT_IN: Final = {
    "kube-api-burst": "50",
    "kube-api-qps": "20",
    f"{_ELECTION}lease-duration": "60s",
    f"{_ELECTION}renew-deadline": "40s",
    f"{_ELECTION}retry-period": "15s",
}
"""What the programs take where they are told nothing, the same in all versions."""


def contradictions(given: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[str, str]]:
    """Yield flags and what is wrong with the values they are given.

    What cannot be read as what it should be is left to the program.
    """
    values = {name: texts[-1] for name, texts in given.items()}
    for name in PORTS:
        if name in values and not 0 < _number(values[name]) < 65536:
            yield name, f"{values[name]} is no port: use 1 to 65535"
    for name in _POSITIVE:
        if name in values and _number(values[name]) <= 0:
            yield name, f"{values[name]} must be greater than 0"
    for name in NAMESPACES:
        text = values.get(name, "").replace(POD_NAMESPACE, "")
        if text and dns_label_problems(text):
            yield name, f"{values[name][:60]} is no name of a namespace"
    yield from _pairs(values)


def _pairs(given: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    values = {**_BUILT_IN, **given}
    burst, qps = "kube-api-burst", "kube-api-qps"
    if {burst, qps} & given.keys() and _number(values[burst]) < _number(values[qps]):
        yield burst, f"{values[burst]} must not be less than {qps}, which is {values[qps]}"
    for short, long in _SHORTER:
        set_here = {short, long} & given.keys()
        if set_here and _nanoseconds(values[short]) >= _nanoseconds(values[long]):
            yield short, f"{values[short]} must be less than {long}, which is {values[long]}"


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 1.0


def _nanoseconds(text: str) -> int:
    try:
        return parse_nanoseconds(text)
    except ValueError:
        return 0
