"""The flags of ``certwright manager``: those of cmd-operator, and further ones.

As Go's, flags may have one dash or two, and a switch may be given as ``--leader-elect=false``.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from certwright.cli.operators import CERT_MANAGER, NAMES
from certwright.cli.resourcemanager.flags import switch
from certwright.operators.rollout.dialects import choice

_DESCRIPTION: Final = """\
Run operators in one process: certmanager installs cert-manager for the
CertManagerDeployment "cluster", ibm-certmanager for the CertManager "default",
managedresource keeps ManagedResources, garbagecollector deletes unused
configuration, tokenrequestor renews tokens, rollout restarts workloads whose
Secrets and ConfigMaps changed, ca-refresh has certificates issued anew when
their authority changed, discoveryservice runs control planes for Envoy sidecars.
"""
_EXAMPLES: Final = """\
Examples:
  certwright crds certmanager | kubectl apply --server-side -f -
  certwright manager --bundles ./bundles                     # on a laptop
  certwright manager --operators managedresource,certmanager --leader-elect \\
      --bundles /bundles --metrics-addr :8080 --health-probe-addr :8081
"""
_NOT_OFFERED: Final = {
    "--metrics-secure": (
        "metrics are served without TLS; serve them to this pod alone (--metrics-addr"
        " 127.0.0.1:8080) and put a proxy in front that has a certificate"
    ),
    "--dry-run": (
        "a process that writes nothing keeps nothing; what it would do shows:"
        " certwright cert-manager plan"
    ),
}
"""What other operators of this kind can, and this one does in another way."""
_LEVELS: Final = ("debug", "info", "error")
_FORMATS: Final = ("auto", "text", "json")


@dataclass(frozen=True, slots=True)
class ManagerOptions:
    """What the command line asks for."""

    operators: tuple[str, ...] = (CERT_MANAGER,)
    bundles: Path | None = None
    bundles_namespace: str | None = None
    """Where published bundles are watched; None: in the namespace of the process."""
    config: Path | None = None
    kubeconfig: Path | None = None
    metrics: str | None = None
    probes: str | None = None
    leader_elect: bool | None = None
    leader_namespace: str | None = None
    pod_refresher: bool = False
    """Whether workloads restart that allow it to cmd-operator; `rollout` does more."""
    dialects: tuple[str, ...] = choice.DEFAULT
    """Whose annotations count for `rollout`."""
    recreate_jobs: bool = False
    """Whether `rollout` recreates Jobs with the annotations of Reloader."""
    concurrency: int | None = None
    sync_period: str | None = None
    discovery_image: str | None = None
    envoy_image: str | None = None
    log_level: str | None = None
    log_format: str | None = None
    dump: Path | None = None
    print_crds: bool = False
    version: bool = False


def parse(words: Sequence[str]) -> ManagerOptions:
    """Read the command line; end the process with a message if it is wrong."""
    parser = _parser()
    typed = vars(parser.parse_args(list(words)))
    for name, why in _NOT_OFFERED.items():
        if typed.pop(name.removeprefix("--").replace("-", "_")):
            parser.error(f"{name}: {why}")
    return ManagerOptions(**typed)


def operator_names(text: str) -> tuple[str, ...]:
    """Read names with commas between; `ArgumentTypeError` if one is unknown."""
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    unknown = [name for name in names if name not in NAMES]
    if unknown or not names:
        known = ", ".join(NAMES)
        raise argparse.ArgumentTypeError(f"{', '.join(unknown) or 'nothing'}; there are {known}")
    return names


def dialect_names(text: str) -> tuple[str, ...]:
    """Read names of dialects with commas between; `ArgumentTypeError` if one is unknown."""
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    unknown = [name for name in names if name not in choice.NAMES]
    if unknown or not names:
        known = ", ".join(choice.NAMES)
        raise argparse.ArgumentTypeError(f"{', '.join(unknown) or 'nothing'}; there are {known}")
    return names


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="certwright manager",
        usage="certwright manager [--operators NAMES] [FLAGS]",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add(
        "--operators",
        type=operator_names,
        default=(CERT_MANAGER,),
        metavar="NAMES",
        help="Which run, with commas between. Default: certmanager.",
    )
    add(
        "--bundles",
        type=Path,
        metavar="DIR",
        help="Folder of bundles, the versions that can be installed (certwright bundle build).",
    )
    add(
        "--bundles-namespace",
        metavar="NAME",
        help="Where published bundles are watched. Default: the namespace of this process.",
    )
    add(
        "--config",
        type=Path,
        metavar="FILE",
        help="ResourceManagerConfiguration for the other operators; flags override it.",
    )
    add(
        "--kubeconfig",
        "-kubeconfig",
        type=Path,
        metavar="FILE",
        help="Default: KUBECONFIG, then ~/.kube/config, then in-cluster.",
    )
    add(
        "--metrics-addr",
        "-metrics-addr",
        "--metrics-bind-address",
        dest="metrics",
        metavar="ADDRESS",
        help="Where metrics are served; port 0 for nowhere. Default: :8080.",
    )
    add(
        "--health-probe-addr",
        "--health-probe-bind-address",
        dest="probes",
        metavar="ADDRESS",
        help="Where /livez and /readyz are served; port 0 for nowhere. Default: :8081.",
    )
    add(
        "--leader-elect",
        "--enable-leader-election",
        "-enable-leader-election",
        dest="leader_elect",
        nargs="?",
        const=True,
        type=switch,
        metavar="true|false",
        help="Work only while this process holds the Lease certwright-manager. Default: false.",
    )
    add(
        "--leader-election-namespace",
        dest="leader_namespace",
        metavar="NAME",
        help="Namespace of the Lease. Default: that of this process.",
    )
    add(
        "--enable-pod-refresher",
        "-enable-pod-refresher",
        dest="pod_refresher",
        nargs="?",
        const=True,
        default=False,
        type=switch,
        metavar="true|false",
        help="Restart workloads that allow it to cmd-operator when their certificates change.",
    )
    add(
        "--dialects",
        type=dialect_names,
        default=choice.DEFAULT,
        metavar="NAMES",
        help=f"Whose annotations count for rollout: {', '.join(choice.NAMES)}. Default:"
        f" {','.join(choice.DEFAULT)}.",
    )
    add(
        "--recreate-jobs",
        action="store_true",
        help="Let rollout delete and recreate Jobs with the annotations of Reloader.",
    )
    add(
        "--discovery-service-image",
        dest="discovery_image",
        metavar="IMAGE",
        help="Image of control planes, and of shutdown managers beside sidecars.",
    )
    add("--envoy-image", metavar="IMAGE", help="Image of sidecars whose Pods name none.")
    add(
        "--concurrency",
        type=int,
        metavar="NUMBER",
        help="How many ManagedResources are applied at the same time; of installations there is"
        " one each.",
    )
    add(
        "--sync-period",
        metavar="DURATION",
        help="How often ManagedResources are checked without an event.",
    )
    for name in _NOT_OFFERED:
        add(name, nargs="?", const=True, default=False, type=switch, help=argparse.SUPPRESS)
    add("--log-level", choices=_LEVELS, metavar="LEVEL", help=f"{', '.join(_LEVELS)}.")
    add(
        "--log-format",
        choices=_FORMATS,
        metavar="FORMAT",
        help="text, json, or auto: text on a terminal.",
    )
    add("--dump", type=Path, metavar="FILE", help="Where SIGUSR1 writes the internal state.")
    add(
        "--print-crds",
        action="store_true",
        help="Print the CustomResourceDefinitions of the operators, and end.",
    )
    add("--version", action="store_true", help="Print the version, and end.")
    return parser  # fmt: skip
