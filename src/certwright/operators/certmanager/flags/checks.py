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


def contradictions(
    given: Mapping[str, tuple[str, ...]], values: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield flags and what is wrong with them.

    *given* are the flags that are set, *values* also has those that are at their default. What
    cannot be read as what it should be is left to the program.
    """
    for name in PORTS:
        if name in given and not 0 < _number(values[name]) < 65536:
            yield name, f"{values[name]} is no port: use 1 to 65535"
    for name in _POSITIVE:
        if name in given and _number(values[name]) <= 0:
            yield name, f"{values[name]} must be greater than 0"
    for name in NAMESPACES:
        text = values.get(name, "").replace(POD_NAMESPACE, "")
        if name in given and text and dns_label_problems(text):
            yield name, f"{values[name][:60]} is no name of a namespace"
    yield from _pairs(given, values)


def _pairs(
    given: Mapping[str, tuple[str, ...]], values: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    def _are_set(one: str, other: str) -> bool:
        """Return whether one of two flags is set, and both have a value."""
        return bool({one, other} & given.keys()) and {one, other} <= values.keys()

    burst, qps = "kube-api-burst", "kube-api-qps"
    if _are_set(burst, qps) and _number(values[burst]) < _number(values[qps]):
        yield burst, f"{values[burst]} must not be less than {qps}, which is {values[qps]}"
    for short, long in _SHORTER:
        if _are_set(short, long) and _nanoseconds(values[short]) >= _nanoseconds(values[long]):
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
