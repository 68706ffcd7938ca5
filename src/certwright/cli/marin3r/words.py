"""From the words of marin3r's command line to those of ours; pure.

Up to v0.7.0-alpha2 the program is the operator unless ``--discovery-service`` is given; later the
first word says what it is.
"""

import re
from collections.abc import Sequence
from typing import Final

from certwright.cli.errors import UsageError
from certwright.cli.operators import DISCOVERY_SERVICE

_SERVES: Final = "discovery-service"
_OPERATES: Final = "operator"
_SAME: Final = (_SERVES, "shutdown-manager")
"""Commands that are called the same here."""
_MOVED: Final = {
    "init-manager": (
        "sidecars have no init container here, their files are in ConfigMaps; create the Pod"
        " anew, so that it is injected anew"
    ),
}
_REVIEWS: Final = "webhook"
_COMMANDS: Final = (_OPERATES, *_SAME, _REVIEWS, *_MOVED)
_OPERATOR_DEFAULTS: Final = {False: ":8383", True: ":8080"}
"""Where an operator serves metrics, by whether it is of the later era."""
_DRAIN_FLAGS: Final = (
    "--ready-file", "--check-ready-interval", "--check-drain-interval", "--start-drain-delay",
    "--check-drain-delay", "--min-open-connections",
)  # fmt: skip
"""Of shutdown managers: how often marin3r looks. Ours waits until no connection is left."""
_ADMIN: Final = "--envoy-admin-address"
_PORT: Final = re.compile(r"https?://(?:localhost|127\.0\.0\.1|\[::1\]):(\d{1,5})/?")
_TRUE: Final = ("1", "t", "true")
_FALSE: Final = ("0", "f", "false")


def our_words(words: Sequence[str]) -> list[str]:
    """Return the words of the command that does the same; `UsageError` if there is none."""
    command, rest = _command(list(words))
    if command in _MOVED:
        raise UsageError(f"marin3r {command}: {_MOVED[command]}")
    if command == _OPERATES:
        return _operator(rest, later=True)
    if command == _REVIEWS:
        return ["discovery-webhook", *_with_debug(rest, ["--debug"])]
    if command == _SERVES:
        return [command, *_with_debug(rest, ["--debug"])]
    if command in _SAME:
        return [command, *_drain_words(_with_debug(rest, []))]
    if command:
        raise UsageError(f"marin3r has no command {command!r}; it has {', '.join(_COMMANDS)}")
    return _without_command(rest)


def _command(words: list[str]) -> tuple[str, list[str]]:
    """Return which command is asked for, if any, and the other words.

    Flags that all commands have may come before it.
    """
    if words and not words[0].startswith("-"):
        return words[0], words[1:]
    place = next((number for number, one in enumerate(words) if one in _COMMANDS), None)
    if place is None:
        return "", words
    return words[place], words[:place] + words[place + 1 :]


def _without_command(words: list[str]) -> list[str]:
    """Return the words for a command line of the earlier era, whose flags may have one dash."""
    serves = False
    rest = []
    for word in words:
        long = f"-{word}" if word.startswith("-") and not word.startswith("--") else word
        name, _, value = long.partition("=")
        if name == f"--{_SERVES}":
            serves = value.lower() not in _FALSE
        else:
            rest.append(long)
    if serves:
        return [_SERVES, *_with_debug(rest, ["--debug"])]
    return _operator(rest, later=False)


def _operator(words: list[str], *, later: bool) -> list[str]:
    made = ["manager", f"--operators={DISCOVERY_SERVICE}"]
    metrics = any(one.startswith(("--metrics-addr", "--metrics-bind-address")) for one in words)
    if not metrics:
        made.append(f"--metrics-addr={_OPERATOR_DEFAULTS[later]}")
    return [*made, *_with_debug(words, ["--log-level=debug"])]


def _with_debug(words: list[str], ours: list[str]) -> list[str]:
    """Return words with ours for ``--debug``, which may have a value."""
    made: list[str] = []
    for word in words:
        name, sign, value = word.partition("=")
        if name != "--debug" or (sign and value.lower() not in (*_TRUE, *_FALSE)):
            made.append(word)
        elif not sign or value.lower() in _TRUE:
            made += ours
    return made


def _drain_words(words: list[str]) -> list[str]:
    """Return the words for a shutdown manager."""
    made, rest = list[str](), iter(words)
    for word in rest:
        name, sign, value = word.partition("=")
        if name not in (_ADMIN, *_DRAIN_FLAGS):
            made.append(word)
            continue
        value = value if sign else next(rest, "")
        if name == _ADMIN:
            found = _PORT.fullmatch(value)
            if found is None:
                raise UsageError(
                    f"{_ADMIN} {value!r}: the Envoy of the same Pod is drained; name its port,"
                    " such as http://localhost:9901"
                )
            made.append(f"--admin-port={found[1]}")
    return made
