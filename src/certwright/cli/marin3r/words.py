"""From the words of marin3r's command line to those of ours; pure.

Up to v0.7.0-alpha2 the program is the operator unless ``--discovery-service`` is given; later the
first word says what it is.
"""

from collections.abc import Sequence
from typing import Final

from certwright.cli.errors import UsageError
from certwright.cli.operators import DISCOVERY_SERVICE

_SERVES: Final = "discovery-service"
_OPERATES: Final = "operator"
_SAME: Final = (_SERVES, "shutdown-manager")
"""Commands that are called the same here."""
_MOVED: Final = {
    "webhook": (
        "reviews are answered by the pods of each DiscoveryService; delete this Deployment, its"
        " Service and its MutatingWebhookConfiguration"
    ),
    "init-manager": (
        "sidecars have no init container here, their files are in ConfigMaps; create the Pod"
        " anew, so that it is injected anew"
    ),
}
_OPERATOR_DEFAULTS: Final = {False: ":8383", True: ":8080"}
"""Where an operator serves metrics, by whether it is of the later era."""


def our_words(words: Sequence[str]) -> list[str]:
    """Return the words of the command that does the same; `UsageError` if there is none."""
    first, rest = (words[0], list(words[1:])) if words else ("", [])
    if first in _MOVED:
        raise UsageError(f"marin3r {first}: {_MOVED[first]}")
    if first in _SAME:
        return [first, *rest]
    if first == _OPERATES:
        return _operator(rest, later=True)
    if first and not first.startswith("-"):
        known = ", ".join([_OPERATES, *_SAME, *_MOVED])
        raise UsageError(f"marin3r has no command {first!r}; it has {known}")
    return _without_command(list(words))


def _without_command(words: list[str]) -> list[str]:
    """Return the words for a command line of the earlier era."""
    serves = False
    rest = []
    for word in words:
        name, _, value = word.partition("=")
        if name == f"--{_SERVES}":
            serves = value.lower() not in {"false", "f", "0"}
        else:
            rest.append(word)
    return [_SERVES, *rest] if serves else _operator(rest, later=False)


def _operator(words: list[str], *, later: bool) -> list[str]:
    made = ["manager", f"--operators={DISCOVERY_SERVICE}"]
    metrics = any(one.startswith(("--metrics-addr", "--metrics-bind-address")) for one in words)
    if not metrics:
        made.append(f"--metrics-addr={_OPERATOR_DEFAULTS[later]}")
    return [*made, *("--log-level=debug" if one == "--debug" else one for one in words)]
