"""The target cluster: what the token requestor keeps there, and its tokens.

Several Secrets may ask for tokens of one ServiceAccount. Then it is kept for all of them: it
carries the labels of all, lists them, and is deleted with the last of them. What exists already
and does not carry our label is neither changed nor deleted.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

import orjson

from certwright.client import Client
from certwright.kube import (
    AlreadyExists,
    Conflict,
    JsonObject,
    Key,
    NotFound,
    Resource,
    key_of,
    parse_time,
)
from certwright.kube.kinds import Secret, ServiceAccount, TokenReview
from certwright.kube.ownership import FieldSet, project
from certwright.operators.tokenrequestor.request import TokenRequest
from certwright.runtime import Cache, Channel, Entry

FIELD_MANAGER: Final = "token-requestor"
_BY_REQUESTER: Final = "requester"
_TOKEN_REQUEST: Final = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A fresh token. The repr does not show it."""

    token: str = field(repr=False)
    expiry: datetime


class TokenTarget:
    """Reads what carries our label from stores, writes through the client, requeues Secrets."""

    def __init__(self, client: Client, cache: Cache, wake: Channel) -> None:
        self._client = client
        self._cache = cache
        self._wake = wake
        self._foreign: dict[Key, str] = {}
        self._handles = {
            kind: cache.store(kind, labels=SELECTOR, indexes={_BY_REQUESTER: _requesters})
            for kind in (ServiceAccount, Secret)
        }
        for handle in self._handles.values():
            handle.listen(self._on_change)

    async def synced(self) -> None:
        """Return as soon as the stores are filled."""
        for handle in self._handles.values():
            await handle.synced()

    def find(self, kind: Resource, key: Key) -> Entry | None:
        """Return an object that is kept."""
        return self._handles[kind].store.get(key)

    def kept_for(self, kind: Resource, requester: Key) -> Sequence[Entry]:
        """Return what is kept for a Secret."""
        return self._handles[kind].store.by_index(_BY_REQUESTER, requester)

    async def create(self, kind: Resource, desired: JsonObject) -> JsonObject | None:
        """Create an object and store it; if there is one already, return that as it is."""
        try:
            stored = await self._client.create(desired, field_manager=FIELD_MANAGER)
        except AlreadyExists:
            return await self.look(kind, key_of(desired))
        self._cache.note_write(kind, orjson.dumps(stored))
        return None

    async def change(self, kind: Resource, live: JsonObject, patch: JsonObject) -> None:
        """Patch exactly this object and store the result; `Conflict` if it is gone."""
        key, metadata = key_of(live), patch.get("metadata") or {}
        exactly = {**patch, "metadata": {**metadata, "uid": live["metadata"]["uid"]}}
        try:
            stored = await self._client.patch(kind, key, exactly, field_manager=FIELD_MANAGER)
        except (Conflict, NotFound) as error:
            await self.look(kind, key)
            raise Conflict(f"{kind.kind} {key} is gone or another one by now") from error
        self._cache.note_write(kind, orjson.dumps(stored))

    def is_foreign(self, account: Key) -> bool:
        """Return whether a ServiceAccount is known to be there and not ours."""
        return account in self._foreign

    async def delete(self, kind: Resource, entry: Entry) -> None:
        """Delete exactly this version of an object, if it is there; `Conflict` if it changed."""
        version = entry.meta.resource_version
        try:
            left = await self._client.delete(
                kind, entry.key, uid=entry.uid, resource_version=version
            )
        except NotFound:
            left = {}
        except Conflict:
            await self.look(kind, entry.key)
            raise
        if left.get("kind") == kind.kind and key_of(left) == entry.key:
            self._cache.note_write(kind, orjson.dumps(left))  # finalizers hold it
        else:
            self._cache.note_delete(kind, entry.key, entry.uid)

    async def look(self, kind: Resource, key: Key) -> JsonObject | None:
        """Read an object into the store, instead of waiting for its event; None if it is gone."""
        self._foreign.pop(key, None)
        before = self.find(kind, key)
        try:
            live = await self._client.get(kind, key)
        except NotFound:
            self._note_gone(kind, before)
            return None
        self._cache.note_write(kind, orjson.dumps(live))
        if kind == ServiceAccount and not is_kept(live):
            self._foreign[key] = str(live["metadata"].get("uid") or "")
        return live

    async def request_token(self, account: Key, lifetime: timedelta) -> IssuedToken:
        """Request a token; `NotFound` if there is no such account, and the store is corrected."""
        spec = {"expirationSeconds": int(lifetime.total_seconds())}
        before = self.find(ServiceAccount, account)
        try:
            answer = await self._client.create_subresource(
                ServiceAccount, account, "token", {**_TOKEN_REQUEST, "spec": spec}
            )
        except NotFound:
            self._foreign.pop(account, None)
            self._note_gone(ServiceAccount, before)
            raise
        status = answer["status"]
        return IssuedToken(status["token"], parse_time(status["expirationTimestamp"]))

    async def accepts(self, token: str, account: Key) -> bool:
        """Return whether the API server accepts a token as one of this ServiceAccount.

        The uid counts, not only the name: a server may accept a token for some seconds after its
        account was deleted, though another of that name exists by now.
        """
        review: JsonObject = {
            "apiVersion": TokenReview.api_version,
            "kind": TokenReview.kind,
            "spec": {"token": token},
        }
        status = (await self._client.create(review)).get("status") or {}
        user = status.get("user") or {}
        wanted = f"system:serviceaccount:{account.namespace}:{account.name}"
        if not status.get("authenticated") or user.get("username") != wanted:
            return False
        if self._uid(account) == user.get("uid"):
            return True
        live = await self.look(ServiceAccount, account)  # one of the two is outdated
        return live is not None and live["metadata"].get("uid") == user.get("uid")

    def _note_gone(self, kind: Resource, before: Entry | None) -> None:
        """Drop what was known *before* the question to which the answer was "not found".

        Another pass may have created the object anew meanwhile: then the answer is not about it.
        """
        if before is not None:
            self._cache.note_delete(kind, before.key, before.uid)

    def _uid(self, account: Key) -> str:
        entry = self.find(ServiceAccount, account)
        return entry.uid if entry is not None else self._foreign.get(account, "")

    def _on_change(self, old: Entry | None, new: Entry | None) -> None:
        for entry in (old, new):
            for requester in requesters(entry.annotations) if entry is not None else ():
                self._wake.send(requester)


def _requesters(entry: Entry) -> Iterable[Key]:
    return requesters(entry.annotations)


# Objects


MARK: Final = "resources.certwright.dev/token-requestor"
"""The label that marks what is kept; only what carries it is watched."""
REQUESTED_BY: Final = "resources.certwright.dev/requested-by"
"""The annotation that lists the Secrets something is kept for: ``namespace/name,…``."""
_MARKED: Final = "true"
SELECTOR: Final = f"{MARK}={_MARKED}"
PREDECESSOR: Final = "gardener-resource-manager"
"""The field manager whose objects we take over."""
_ORIGIN: Final = "resources.gardener.cloud/origin"


def is_kept(live: JsonObject) -> bool:
    """Return whether an object is one that the token requestor keeps."""
    return (live["metadata"].get("labels") or {}).get(MARK) == _MARKED


def is_of_predecessor(live: JsonObject) -> bool:
    """Return whether Gardener's token requestor made an object, and none of its ManagedResources.

    Both sign alike; only what a ManagedResource keeps names it.
    """
    metadata = live["metadata"]
    writers = {entry.get("manager") for entry in metadata.get("managedFields") or ()}
    return PREDECESSOR in writers and _ORIGIN not in (metadata.get("annotations") or {})


def own_labels(live: JsonObject, managed: Iterable[JsonObject]) -> dict[str, str]:
    """Return the labels of an object that we set."""
    fields = FieldSet()
    for entry in managed:
        if entry.get("manager") == FIELD_MANAGER and not entry.get("subresource"):
            fields |= FieldSet.parse(entry.get("fieldsV1") or {})
    return (project(live, fields).get("metadata") or {}).get("labels") or {}


def account_patch(
    live: JsonObject, desired: JsonObject, owned: Mapping[str, str]
) -> JsonObject | None:
    """Return the merge patch after which a ServiceAccount is as desired; None if it is.

    *owned* are the labels we set before: those that are not desired any more go.
    """
    have, want = live["metadata"].get("labels") or {}, desired["metadata"]["labels"]
    labels: dict[str, str | None] = {name: None for name in owned if name not in want}
    labels |= {name: value for name, value in want.items() if have.get(name) != value}
    requested = desired["metadata"]["annotations"]
    metadata: JsonObject = {"labels": labels} if labels else {}
    if not requested.items() <= (live["metadata"].get("annotations") or {}).items():
        metadata["annotations"] = requested
    patch: JsonObject = {"metadata": metadata} if metadata else {}
    if live.get("automountServiceAccountToken") is not False:
        patch["automountServiceAccountToken"] = False
    return patch or None


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
