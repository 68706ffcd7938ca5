"""The flags of ``certwright resource-manager``, from the table that says what each overrides.

Booleans may be given as ``--always-update``, ``--always-update=false`` or with a space between.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from certwright.operators.managedresource.configuration.flags import FLAGS, Flag, FlagType

_TRUE: Final = frozenset({"1", "t", "true"})
_FALSE: Final = frozenset({"0", "f", "false"})

_DESCRIPTION: Final = """\
Keep objects as ManagedResources describe them, check their health, delete
unused configuration and renew tokens. One replica works at a time. It is
configured by a file of kind ResourceManagerConfiguration, by flags, or both;
flags override the file.
"""
_EXAMPLES: Final = """\
Examples:
  certwright resource-manager --print-crds | kubectl apply -f -
  certwright resource-manager --config config.yaml
  certwright resource-manager --leader-election=false --token-requestor   # on a laptop
  certwright resource-manager --namespace shoot--x --target-kubeconfig ./shoot.yaml \\
      --resource-class seed --sync-period 1h --garbage-collector-sync-period 12h
"""


@dataclass(frozen=True, slots=True)
class ResourceManagerOptions:
    """What the command line asks for."""

    config: Path | None = None
    flags: dict[str, Any] = field(default_factory=dict)
    """Those that are present, by name."""
    print_crds: bool = False
    version: bool = False
    dump: Path | None = None


def parse(words: Sequence[str]) -> ResourceManagerOptions:
    """Read the command line; end the process with a message if it is wrong."""
    parser = _parser()
    typed = vars(parser.parse_args(list(words)))
    flags = {flag.name: typed[_key(flag)] for flag in FLAGS if typed[_key(flag)] is not None}
    return ResourceManagerOptions(
        typed["config"], flags, typed["print_crds"], typed["version"], typed["dump"]
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="certwright resource-manager",
        usage="certwright resource-manager [--config FILE] [FLAGS]",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="Configuration file.")
    parser.add_argument(
        "--print-crds", action="store_true", help="Print the CustomResourceDefinition, and end."
    )
    parser.add_argument("--version", action="store_true", help="Print the version, and end.")
    parser.add_argument(
        "--dump", type=Path, metavar="FILE", help="Where SIGUSR1 writes the internal state."
    )
    for flag in FLAGS:
        parser.add_argument(flag.name, **_shape(flag), help=flag.help)
    return parser


def _shape(flag: Flag) -> dict[str, Any]:
    match flag.type:
        case FlagType.SWITCH:
            return {"nargs": "?", "const": True, "type": switch, "metavar": "true|false"}
        case FlagType.NAMES:
            return {"action": "append", "metavar": "NAME"}
        case FlagType.NUMBER:
            return {"type": int, "metavar": "NUMBER"}
        case _:
            return {"metavar": flag.type.name}


def switch(text: str) -> bool:
    """Read the value of a switch, as Go does; `ArgumentTypeError` if it is none."""
    if text.lower() in _TRUE:
        return True
    if text.lower() in _FALSE:
        return False
    raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")


def _key(flag: Flag) -> str:
    return flag.name.removeprefix("--").replace("-", "_")
