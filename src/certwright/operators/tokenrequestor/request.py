"""What a Secret asks for (a token of which ServiceAccount, for how long, and where to put it), and
when that token is renewed: well before it expires, and not all tokens at once.

Users write requests as annotations. Everything is checked before anything is done, and all mistakes
are reported at once, each with its annotation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Final

import orjson

from certwright.kube import Key, format_time, parse_time
from certwright.kube.durations import parse_duration
from certwright.kube.names import (
    dns_label_problems,
    dns_subdomain_problems,
    label_value_problems,
    qualified_name_problems,
)
from certwright.runtime.queue.backoff import Rng

PURPOSE: Final = "resources.gardener.cloud/purpose"
CLASS: Final = "resources.gardener.cloud/class"
TOKEN_REQUESTOR: Final = "token-requestor"  # noqa: S105 - a purpose, not a secret

_ACCOUNT: Final = "serviceaccount.resources.gardener.cloud"
ACCOUNT_NAME: Final = f"{_ACCOUNT}/name"
ACCOUNT_NAMESPACE: Final = f"{_ACCOUNT}/namespace"
ACCOUNT_LABELS: Final = f"{_ACCOUNT}/labels"
EXPIRATION: Final = f"{_ACCOUNT}/token-expiration-duration"
INJECT_CA_BUNDLE: Final = f"{_ACCOUNT}/inject-ca-bundle"
RENEW_TIMESTAMP: Final = f"{_ACCOUNT}/token-renew-timestamp"

_TARGET: Final = "token-requestor.resources.gardener.cloud/target-secret"
TARGET_NAME: Final = f"{_TARGET}-name"
TARGET_NAMESPACE: Final = f"{_TARGET}-namespace"

DEFAULT_LIFETIME: Final = timedelta(hours=12)
SHORTEST_LIFETIME: Final = timedelta(minutes=10)
"""No API server issues tokens for less."""
LONGEST_LIFETIME: Final = timedelta(seconds=2**32)
"""No API server accepts more."""

_TRUTHY: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})


class TokenRequestError(ValueError):
    """The annotations of a Secret are not valid; the message names what to change."""


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """What one Secret asks for."""

    account: Key
    labels: Mapping[str, str] = field(default_factory=dict)
    """What the ServiceAccount is labelled with."""
    lifetime: timedelta = DEFAULT_LIFETIME
    inject_ca_bundle: bool = False
    target: Key | None = None
    """The Secret in the target cluster that gets the token; None for the one that asks."""


def selector(resource_class: str = "") -> str:
    """Return the selector of an instance's Secrets: without a class, those of every class."""
    wanted = f"{PURPOSE}={TOKEN_REQUESTOR}"
    return f"{wanted},{CLASS}={resource_class}" if resource_class else wanted


def read_request(annotations: Mapping[str, str]) -> TokenRequest:
    """Read what a Secret asks for; `TokenRequestError` with every mistake there is."""
    problems: list[str] = []
    account = _object(annotations, ACCOUNT_NAME, ACCOUNT_NAMESPACE, problems)
    target = None
    if TARGET_NAME in annotations or TARGET_NAMESPACE in annotations:
        target = _object(annotations, TARGET_NAME, TARGET_NAMESPACE, problems)
    labels = _labels(annotations.get(ACCOUNT_LABELS, ""), problems)
    lifetime = _lifetime(annotations.get(EXPIRATION, ""), problems)
    if problems:
        raise TokenRequestError("; ".join(problems))
    return TokenRequest(
        account, labels, lifetime, annotations.get(INJECT_CA_BUNDLE) in _TRUTHY, target
    )


def check_scope(request: TokenRequest, asker: Key, allowed: Sequence[str]) -> None:
    """Refuse what a Secret may not ask for.

    Who may create Secrets in a namespace can have tokens of its ServiceAccounts anyway; those of
    other namespaces have to be *allowed*: ``namespace/name``, with ``*`` for any part of it. The
    token goes into the namespace of the Secret, or into that of the ServiceAccount.

    Raises:
        TokenRequestError: with the way out.
    """
    account, target = request.account, request.target
    if account.namespace != asker.namespace and not any(
        fnmatchcase(str(account), pattern) for pattern in allowed
    ):
        raise TokenRequestError(
            f"the ServiceAccount {account} is in another namespace than this Secret; ask for one of"
            f" {asker.namespace}, or have {account} added to"
            " controllers.tokenRequestor.allowedServiceAccounts"
        )
    if target is not None and target.namespace not in {asker.namespace, account.namespace}:
        raise TokenRequestError(
            f"annotation {TARGET_NAMESPACE} is {target.namespace!r}; use the namespace of this"
            f" Secret ({asker.namespace}) or of the ServiceAccount ({account.namespace})"
        )


def account_of(annotations: Mapping[str, str]) -> Key | None:
    """Return which ServiceAccount a Secret asks for, or None if it names none."""
    name, namespace = annotations.get(ACCOUNT_NAME), annotations.get(ACCOUNT_NAMESPACE)
    return Key(namespace, name) if name and namespace else None


def _object(
    annotations: Mapping[str, str], name_key: str, namespace_key: str, problems: list[str]
) -> Key:
    for key, check in ((name_key, dns_subdomain_problems), (namespace_key, dns_label_problems)):
        value = annotations.get(key, "")
        if not value:
            problems.append(f"annotation {key} is missing; set it")
        elif found := check(value):
            problems.append(f"annotation {key} is {value[:100]!r}: {'; '.join(found)}")
    return Key(annotations.get(namespace_key, ""), annotations.get(name_key, ""))


def _labels(text: str, problems: list[str]) -> dict[str, str]:
    if not text:
        return {}
    try:
        labels = orjson.loads(text)
    except orjson.JSONDecodeError:
        labels = None
    if not isinstance(labels, dict) or not all(isinstance(v, str) for v in labels.values()):
        problems.append(
            f"annotation {ACCOUNT_LABELS} is not a JSON object of texts;"
            ' write it like {"app":"web","tier":"front"}'
        )
        return {}
    problems += [
        f"annotation {ACCOUNT_LABELS}: label {name[:100]!r}: {why}"
        for name, value in labels.items()
        for why in (*qualified_name_problems(name), *label_value_problems(value))
    ]
    return labels


def _lifetime(text: str, problems: list[str]) -> timedelta:
    if not text:
        return DEFAULT_LIFETIME
    try:
        lifetime = parse_duration(text)
    except ValueError as error:
        problems.append(f"annotation {EXPIRATION}: {error}")
        return DEFAULT_LIFETIME
    if not SHORTEST_LIFETIME <= lifetime <= LONGEST_LIFETIME:
        problems.append(
            f"annotation {EXPIRATION} is {text[:100]!r}; tokens live for 10m at least"
            " and 2^32 seconds at most"
        )
    return lifetime


# Renewal


RENEW_AFTER: Final = 0.8
"""The part of its life after which a token is renewed."""
JITTER: Final = 0.05
"""How much later than that it may become, as a part of the wait."""
LONGEST_CONSIDERED: Final = timedelta(hours=24)
"""A token that lives longer is renewed as if it lived for a day."""


def renew_time(now: datetime, expiry: datetime, rng: Rng) -> datetime:
    """Return when to renew a token issued *now* that the server lets live until *expiry*."""
    life = min(expiry - now, LONGEST_CONSIDERED)
    return now + life * RENEW_AFTER * (1 + JITTER * rng.random())


def until_renewal(timestamp: str | None, now: datetime) -> timedelta | None:
    """Return how long a token may still be used by its renewal timestamp; None if it is due.

    It is due, too, when there is no timestamp (taking it away asks for a renewal) or none that
    can be read, and when it is further away than any that `renew_time` gives.
    """
    try:
        left = parse_time(timestamp or "") - now
    except ValueError:
        return None
    farthest = LONGEST_CONSIDERED * RENEW_AFTER * (1 + JITTER)
    return left if timedelta() < left <= farthest else None


def write_renew_time(instant: datetime) -> str:
    """Return the text of a renewal timestamp."""
    return format_time(instant)
