"""The flags of ``certwright rollout run``, besides those of Stakater Reloader."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from certwright.cli.errors import UsageError
from certwright.cli.rollout import reloaderflags
from certwright.cli.rollout.actions import ReaderOptions
from certwright.cli.rollout.reloaderflags import listed_words
from certwright.kube import Key
from certwright.kube.durations import parse_duration
from certwright.operators.rollout.dialects import choice
from certwright.operators.rollout.dialects.reloaderoptions import ReloaderOptions
from certwright.operators.rollout.engine.settings import DEFAULT_HOME

_DESCRIPTION: Final = """\
Restart workloads when the Secrets and ConfigMaps that their pods consume have
changed. Which workloads do is said by their annotations, in the words of
certwright, cmd-operator (redhat), Stakater Reloader, or IBM's operator (ibm).
The flags of Stakater Reloader mean what they mean there.
"""
_EXAMPLES: Final = """\
Examples:
  certwright rollout run                                   # on a laptop
  certwright rollout run --dry-run --log-level debug
  certwright rollout run --auto-reload-all --reload-strategy annotations \\
      --namespaces-to-ignore kube-system --enable-ha
  certwright rollout run --dialects ibm --limit-per-cluster 20
"""
_LEVELS: Final = {
    "trace": "debug", "debug": "debug", "info": "info", "warning": "info", "warn": "info",
    "error": "error", "fatal": "error", "panic": "error",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutOptions:
    """What the command line asks for."""

    dialects: tuple[str, ...] = choice.DEFAULT
    reloader: ReloaderOptions = field(default_factory=ReloaderOptions)
    namespace: str = ""
    """The only one that is watched; all if empty."""
    home: Key = DEFAULT_HOME
    """The Secret with the key of digests."""
    quiet: timedelta | None = None
    patience: timedelta | None = None
    per_namespace: int = 0
    per_cluster: int = 0
    dry_run: bool = False
    leader_elect: bool = False
    lease: str | None = None
    lease_namespace: str | None = None
    kubeconfig: Path | None = None
    metrics: str | None = None
    probes: str | None = None
    log_level: str = "info"
    log_format: str = "auto"
    dump: Path | None = None
    version: bool = False
    notes: tuple[str, ...] = ()
    """About flags that have no effect."""


def parse(words: Sequence[str], environment: Mapping[str, str]) -> RolloutOptions:
    """Read the command line; end the process with a message, or raise `UsageError`."""
    typed = vars(_parser().parse_args(list(words)))
    if typed["webhook_url"]:
        raise UsageError(
            "--webhook-url is not supported: it would call an address instead of restarting"
            " anything; watch the Events of workloads, or the metrics, instead"
        )
    return RolloutOptions(
        dialects=_dialects(listed_words(typed["dialects"]) or choice.DEFAULT),
        reloader=reloaderflags.options_of(typed),
        namespace=environment.get("KUBERNETES_NAMESPACE", ""),
        home=_home(typed["key_secret"]),
        quiet=_duration(typed, "quiet"),
        patience=_duration(typed, "patience"),
        per_namespace=typed["limit_per_namespace"],
        per_cluster=typed["limit_per_cluster"],
        dry_run=typed["dry_run"],
        leader_elect=typed["leader_elect"],
        lease=typed["leader_election_id"],
        lease_namespace=typed["leader_election_namespace"],
        kubeconfig=typed["kubeconfig"],
        metrics=typed["metrics"],
        probes=typed["probes"],
        log_level=_LEVELS[typed["log_level"]],
        log_format="json" if typed["log_format"] == "json" else "auto",
        dump=typed["dump"],
        version=typed["version"],
        notes=tuple(reloaderflags.notes_of(typed, environment)),
    )


def asked(dialects: str | None, key_secret: str | None) -> ReaderOptions:
    """Return with whose eyes to look, as options say; `UsageError` if they make no sense."""
    names = _dialects(listed_words([dialects] if dialects else None) or choice.NAMES)
    return ReaderOptions(names, _home(key_secret))


def _dialects(names: Sequence[str]) -> tuple[str, ...]:
    if unknown := [name for name in names if name not in choice.NAMES]:
        raise UsageError(f"--dialects: {', '.join(unknown)}; there are {', '.join(choice.NAMES)}")
    return tuple(names)


def _home(text: str | None) -> Key:
    if text is None:
        return DEFAULT_HOME
    key = Key.parse(text)
    if not key.namespace or not key.name:
        raise UsageError(f"--key-secret: {text!r} is not NAMESPACE/NAME")
    return key


def _duration(typed: Mapping[str, Any], name: str) -> timedelta | None:
    text = typed[name]
    if text is None:
        return None
    try:
        found = parse_duration(text)
    except ValueError as error:
        raise UsageError(f"--{name}: {error}") from error
    if found < timedelta():
        raise UsageError(f"--{name}: {text} is negative")
    return found


def _number(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 on")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="certwright rollout run",
        usage="certwright rollout run [--dialects NAMES] [FLAGS]",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_own(parser)
    _add_shared(parser)
    reloaderflags.add_to(parser.add_argument_group("flags of Stakater Reloader"))
    return parser


def _add_own(parser: argparse.ArgumentParser) -> None:
    names = ", ".join(choice.NAMES)
    parser.add_argument(
        "--dialects",
        action="append",
        metavar="NAMES",
        help=f"Whose annotations count: {names}. Default: {','.join(choice.DEFAULT)}.",
    )
    parser.add_argument(
        "--quiet",
        metavar="DURATION",
        help="How long contents must be unchanged before a restart. Default: 5s.",
    )
    parser.add_argument(
        "--patience",
        metavar="DURATION",
        help="How long a rollout may take before it counts as failed. Default: 10m.",
    )
    for place in ("namespace", "cluster"):
        parser.add_argument(
            f"--limit-per-{place}",
            type=_number,
            default=0,
            metavar="NUMBER",
            help=f"How many workloads of a {place} may restart at the same time; 0: no limit.",
        )
    parser.add_argument(
        "--dry-run", action="store_true", help="Report restarts as Events; restart nothing."
    )
    parser.add_argument(
        "--recreate-jobs",
        action="store_true",
        help="Delete and recreate Jobs with the annotations of Reloader; by default left alone.",
    )
    parser.add_argument(
        "--key-secret",
        metavar="NAMESPACE/NAME",
        help="Secret with the key of digests. Default: kube-system/certwright-rollout-key.",
    )


def _add_shared(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--kubeconfig",
        type=Path,
        metavar="FILE",
        help="Default: KUBECONFIG, then ~/.kube/config, then in-cluster.",
    )
    add(
        "--metrics-addr",
        dest="metrics",
        metavar="ADDRESS",
        help="Where metrics are served; port 0 for nowhere. Default: :8080.",
    )
    add(
        "--health-probe-addr",
        "--health-addr",
        dest="probes",
        metavar="ADDRESS",
        help="Where /livez and /readyz are served; port 0 for nowhere. Default: :8081.",
    )
    add(
        "--log-level",
        choices=_LEVELS,
        default="info",
        metavar="LEVEL",
        help="debug, info, error; trace, warning, fatal and panic mean the nearest.",
    )
    add("--log-format", default="", metavar="FORMAT", help="json; text on a terminal otherwise.")
    add("--dump", type=Path, metavar="FILE", help="Where SIGUSR1 writes the internal state.")
    add("--version", action="store_true", help="Print the version, and end.")
