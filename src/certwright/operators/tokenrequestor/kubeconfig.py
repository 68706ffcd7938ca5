"""Tokens inside kubeconfigs: read from and written to the user of the current context.

Everything else in the file stays as it is. Messages never quote the file: it holds credentials.
"""

import re
from typing import Any, Final

import yaml

from certwright.apply import ReadLimits, read_text
from certwright.kube import JsonObject

_LIMITS: Final = ReadLimits(size=1024 * 1024, documents=1, depth=50, nodes=50_000, aliases=0)
_PLAIN: Final = re.compile(r"[A-Za-z][-A-Za-z0-9_./:]+")


class KubeconfigError(ValueError):
    """A kubeconfig has no place for a token; the message names what is missing."""


def token_in(text: str) -> str:
    """Return the token of the current context's user; empty if it has none.

    Raises:
        KubeconfigError: there is no current context with a user.
    """
    token = _current(_read(text), "user").get("token") or ""
    return token if isinstance(token, str) else ""


def ca_bundle_in(text: str) -> str:
    """Return the authority of the current context's cluster, as base64; empty if it has none.

    Raises:
        KubeconfigError: there is no current context with a cluster.
    """
    bundle = _current(_read(text), "cluster").get("certificate-authority-data") or ""
    return bundle if isinstance(bundle, str) else ""


def with_token(text: str, token: str, ca_bundle: str | None = None) -> str:
    """Return the kubeconfig with a token, and with an authority (base64) if one is given.

    Raises:
        KubeconfigError: there is no current context with a user and a cluster to put them.
    """
    config = _read(text)
    _current(config, "user")["token"] = token
    if ca_bundle is not None:
        cluster = _current(config, "cluster")
        cluster["certificate-authority-data"] = ca_bundle
        cluster.pop("certificate-authority", None)  # a path on another machine
    return yaml.dump(config, Dumper=_Dumper, sort_keys=False, width=2**30)


def _read(text: str) -> JsonObject:
    read = read_text(text, "kubeconfig", limits=_LIMITS)
    if read.errors:
        line = read.errors[0].origin.line
        raise KubeconfigError(f"data.kubeconfig is neither YAML nor JSON (line {line}); replace it")
    if len(read.objects) != 1:
        raise KubeconfigError("data.kubeconfig is empty; put a kubeconfig there, or remove the key")
    return read.objects[0].obj


def _current(config: JsonObject, what: str) -> JsonObject:
    """Return the user or the cluster entry of the current context, to be read or changed."""
    name = config.get("current-context")
    if not isinstance(name, str) or not name:
        raise KubeconfigError("data.kubeconfig has no current-context; set it")
    context = _entry(config, "context", name)
    wanted = context.get(what)
    if not isinstance(wanted, str) or not wanted:
        raise KubeconfigError(
            f"data.kubeconfig: the current context names no {what}; set contexts[].context.{what}"
        )
    return _entry(config, what, wanted)


def _entry(config: JsonObject, what: str, name: str) -> JsonObject:
    entries = config.get(f"{what}s")
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and entry.get("name") == name:
            found = entry.setdefault(what, {})
            if found is None:
                found = entry[what] = {}
            if isinstance(found, dict):
                return found
    raise KubeconfigError(
        f"data.kubeconfig has no {what} of the name its current context uses; add it to {what}s"
    )


class _Dumper(yaml.SafeDumper):
    """Writes YAML that every reader understands alike: in doubt, it quotes text."""


def _text(dumper: yaml.SafeDumper, value: str) -> Any:
    style = None if _PLAIN.fullmatch(value) else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)
