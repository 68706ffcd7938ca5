"""The objects kept in the target cluster: ServiceAccounts, and Secrets that take a token.

Several Secrets may ask for tokens of one ServiceAccount. Then it is kept for all of them: it
carries the labels of all, lists them, and is deleted with the last of them.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from certwright.kube import JsonObject, Key
from certwright.operators.tokenrequestor.request import TokenRequest

MARK: Final = "resources.certwright.dev/token-requestor"
"""The label that marks what is kept; only what carries it is watched."""
REQUESTED_BY: Final = "resources.certwright.dev/requested-by"
"""The annotation that lists the Secrets something is kept for: ``namespace/name,…``."""
_MARKED: Final = "true"
SELECTOR: Final = f"{MARK}={_MARKED}"


def requesters(annotations: Mapping[str, str]) -> list[Key]:
    """Return the Secrets an object is kept for; entries that cannot be read are left out."""
    found = []
    for text in annotations.get(REQUESTED_BY, "").split(","):
        namespace, _, name = text.partition("/")
        if namespace and name and "/" not in name:
            found.append(Key(namespace, name))
    return found


def account_object(
    account: Key,
    requests: Mapping[Key, TokenRequest],
    others: Iterable[Key] = (),
    kept_labels: Mapping[str, str] | None = None,
) -> JsonObject:
    """Return the ServiceAccount that these Secrets ask for.

    Where two want the same label with different values, the first by name wins.
    *others* ask for it too, but their labels are not known here: *kept_labels* stay.
    """
    labels: dict[str, str] = {}
    for requester in sorted(requests, reverse=True):
        labels |= requests[requester].labels
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": _metadata(account, {*requests, *others}, {**labels, **(kept_labels or {})}),
        "automountServiceAccountToken": False,
    }


def target_secret(target: Key, requester: Key, data: Mapping[str, str]) -> JsonObject:
    """Return the Secret in the target cluster that holds the token for the one that asks."""
    metadata = _metadata(target, [requester], {})
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": dict(data)}


def _metadata(key: Key, requesters: Iterable[Key], labels: Mapping[str, str]) -> JsonObject:
    return {
        "namespace": key.namespace,
        "name": key.name,
        "labels": {**labels, MARK: _MARKED},
        "annotations": {REQUESTED_BY: ",".join(map(str, sorted(requesters)))},
    }
