"""The token requestor: keeps a valid token of a ServiceAccount in each Secret that asks for one.

The annotations of a Secret (see `request`) name the ServiceAccount of the target cluster. The
ServiceAccount is kept as long as a Secret asks for it; the token is renewed well before it
expires, and at once when the API server no longer accepts it.

An annotation of the Secret holds the time of renewal, the API server decides whether a token is
valid, and the rest is in the stores. So a restart changes nothing, and neither does a crash at
any point: at worst a token is requested twice. Only a token that could not be stored yet is
kept in memory, for the next try.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from certwright.kube import Conflict, JsonObject, Key, NotFound, key_of
from certwright.kube.comparison import is_applied, own_fields
from certwright.kube.kinds import Secret, ServiceAccount
from certwright.kube.ownership import project
from certwright.operators.tokenrequestor.contents import (
    CA_BUNDLE,
    TOKEN,
    KubeconfigError,
    SecretContents,
    filled,
    held_token,
    holds_ca_bundle,
)
from certwright.operators.tokenrequestor.request import (
    PURPOSE,
    RENEW_AFTER,
    RENEW_TIMESTAMP,
    TOKEN_REQUESTOR,
    TokenRequest,
    TokenRequestError,
    account_of,
    read_request,
    renew_time,
    until_renewal,
    write_renew_time,
)
from certwright.operators.tokenrequestor.target import (
    FIELD_MANAGER,
    IssuedToken,
    TokenTarget,
    account_object,
    requesters,
    target_secret,
)
from certwright.runtime import DONE, Context, Effect, Entry, Outcome, TerminalError, again
from certwright.runtime.queue.backoff import Rng

FINALIZER: Final = "resources.gardener.cloud/tokenrequestor-controller"
BY_ACCOUNT: Final = "account"


class RequestCause(StrEnum):
    """Why a token is requested."""

    DUE = "due"
    """There is none yet, or it is time to renew it."""
    UNUSABLE = "unusable"
    """It is not where it should be, or the API server does not accept it."""


class TokenRequestor:
    """Reconciles one Secret of the source cluster at a time.

    *namespace* limits it to the Secrets there, all if empty; *ca_bundle* returns the authority of
    the target's API server as PEM; *count* is called with the cause of each token request.
    """

    def __init__(
        self,
        target: TokenTarget,
        rng: Rng,
        ca_bundle: Callable[[], bytes],
        count: Callable[[RequestCause], None],
        namespace: str = "",
    ) -> None:
        self._target = target
        self._count = count
        self._rng = rng
        self._ca_bundle = ca_bundle
        self._namespace = namespace
        self._unstored: dict[Key, tuple[TokenRequest, IssuedToken]] = {}

    async def reconcile(self, ctx: Context, key: Key) -> Outcome:
        """Make one Secret hold a fresh token, or clean up after it."""
        if self._namespace and key.namespace != self._namespace:
            return DONE  # another controller handles this namespace
        await self._target.synced()
        secret = ctx.get(Secret, key)
        if secret is None:
            return await self._unlabelled(ctx, key)
        if "deletionTimestamp" in secret["metadata"]:
            await self._clean_up(ctx, key)
            await ctx.release(secret, FINALIZER)
            return DONE
        try:
            request = read_request(_annotations(secret))
            left = await self._keep_token(ctx, secret, key, request)
        except (TokenRequestError, KubeconfigError) as error:
            raise TerminalError(str(error)) from error
        await self._clean_up(ctx, key, request)
        return again(after=left)

    async def _keep_token(
        self, ctx: Context, secret: JsonObject, key: Key, request: TokenRequest
    ) -> timedelta:
        """Make a Secret hold what it asks for; return the time until the renewal."""
        bundle = self._ca_bundle() if request.inject_ca_bundle else None
        if request.inject_ca_bundle and not bundle:
            raise TokenRequestError(
                "the authority of the target cluster is not known, so it cannot be injected; name"
                " it in the target's kubeconfig (certificate-authority-data)"
            )
        filled(secret.get("data") or {}, SecretContents("", bundle))  # raises if there is no place
        held = await ctx.hold(secret, FINALIZER)
        existence = _Existence(ctx, secret, confirmed=held is Effect.WRITTEN)
        await self._keep_account(ctx, request.account, existence)
        left = until_renewal(_annotations(secret).get(RENEW_TIMESTAMP), ctx.clock.now())
        if left is not None and await self._is_usable(secret, key, request, bundle):
            return left
        self._count(RequestCause.DUE if left is None else RequestCause.UNUSABLE)
        if request.target is not None and self._target.find(Secret, request.target) is None:
            await existence.confirm()
        return await self._renew(ctx, secret, key, request, bundle)

    async def _is_usable(
        self, secret: JsonObject, key: Key, request: TokenRequest, bundle: bytes | None
    ) -> bool:
        """Return whether the token is where it should be and the API server accepts it."""
        holder: JsonObject | None = secret
        if request.target is not None:
            entry = self._target.find(Secret, request.target)
            ours = entry is not None and key in requesters(entry.annotations)
            holder = entry.obj() if entry is not None and ours else None
        token = held_token(holder) if holder is not None else ""
        if holder is None or not token:
            return False
        if bundle is not None and not holds_ca_bundle(holder, bundle):
            return False
        return await self._target.accepts(token, request.account)

    async def _renew(
        self,
        ctx: Context,
        secret: JsonObject,
        key: Key,
        request: TokenRequest,
        bundle: bytes | None,
    ) -> timedelta:
        """Request a token and store it together with the time of its renewal."""
        issued = await self._token(key, request, ctx.clock.now())
        data = secret.get("data") or {}
        new = filled(data, SecretContents(issued.token, bundle))
        keys: dict[str, str | None] = {**new}
        if request.target is not None:
            await self._target.apply(Secret, target_secret(request.target, key, new))
            keys = {
                name: None for name in (TOKEN, CA_BUNDLE) if name in data
            }  # from before it named a target Secret
        now = ctx.clock.now()
        due = renew_time(now, issued.expiry, self._rng)
        change: JsonObject = {
            "metadata": {"annotations": {RENEW_TIMESTAMP: write_renew_time(due)}},
            **({"data": keys} if keys else {}),
        }
        await ctx.patch(secret, change)
        del self._unstored[key]
        return due - now

    async def _token(self, key: Key, request: TokenRequest, now: datetime) -> IssuedToken:
        """Request a token, unless the one of the last try can still be used."""
        before, issued = self._unstored.get(key, (None, None))
        if (
            issued is None
            or before != request
            or issued.expiry - now < request.lifetime * RENEW_AFTER
        ):
            issued = await self._target.request_token(request.account, request.lifetime)
            self._unstored[key] = (request, issued)
        return issued

    async def _keep_account(
        self, ctx: Context, account: Key, existence: "_Existence | None" = None
    ) -> None:
        """Apply the ServiceAccount with all labels asked for, created only if the Secret exists."""
        entry = self._target.find(ServiceAccount, account)
        others = self._other_requesters(entry)
        labels = _own_labels(entry) if others and entry is not None else {}
        desired = account_object(account, _requests(ctx, account), others, labels)
        if entry is not None and _is_current(entry, desired):
            return
        if entry is None and existence is not None:
            await existence.confirm()
        await self._target.apply(ServiceAccount, desired)

    def _other_requesters(self, entry: Entry | None) -> list[Key]:
        """Return the Secrets of other namespaces that a ServiceAccount is kept for."""
        if entry is None or not self._namespace:
            return []
        return [key for key in requesters(entry.annotations) if key.namespace != self._namespace]

    async def _clean_up(self, ctx: Context, key: Key, request: TokenRequest | None = None) -> None:
        """Delete what is kept for a Secret and no longer asked for."""
        self._unstored.pop(key, None)
        for entry in self._target.kept_for(ServiceAccount, key):
            if request is not None and entry.key == request.account:
                continue
            if _requests(ctx, entry.key) or self._other_requesters(entry):
                await self._keep_account(ctx, entry.key)
            else:
                await self._target.delete(ServiceAccount, entry)
        for entry in self._target.kept_for(Secret, key):
            if request is None or entry.key != request.target:
                await self._target.delete(Secret, entry)

    async def _unlabelled(self, ctx: Context, key: Key) -> Outcome:
        """Clean up after a Secret that exists and has lost its label."""
        try:
            secret = await ctx.client.get(Secret, key)
        except NotFound:
            self._unstored.pop(key, None)
            return DONE
        metadata = secret["metadata"]
        asks = (metadata.get("labels") or {}).get(PURPOSE) == TOKEN_REQUESTOR
        if asks or FINALIZER not in metadata.get("finalizers", ()):
            return DONE  # another instance handles it, or it asks for nothing
        await self._clean_up(ctx, key)
        finalizers = [name for name in metadata["finalizers"] if name != FINALIZER]
        exactly = {name: metadata[name] for name in ("uid", "resourceVersion")}
        await ctx.client.patch(Secret, key, {"metadata": {**exactly, "finalizers": finalizers}})
        return DONE


class _Existence:
    """Whether a Secret still exists, to be confirmed before anything is created for it.

    The stores of a process that just started may be stale, and show a Secret that is gone and
    that an earlier process has cleaned up after.
    """

    def __init__(self, ctx: Context, secret: JsonObject, *, confirmed: bool) -> None:
        self._ctx = ctx
        self._secret = secret
        self._confirmed = confirmed

    async def confirm(self) -> None:
        """Read the Secret from the API server, once; `Conflict` if it is gone or being deleted."""
        if self._confirmed:
            return
        key = key_of(self._secret)
        try:
            live = (await self._ctx.client.get(Secret, key))["metadata"]
        except NotFound:
            live = {}
        if live.get("uid") != self._secret["metadata"]["uid"] or "deletionTimestamp" in live:
            raise Conflict(
                f"Secret {key} is gone or being deleted; the cache has not seen that yet"
            )
        self._confirmed = True


def by_account(entry: Entry) -> tuple[Key, ...]:
    """Index the Secrets by the ServiceAccount they ask for."""
    account = account_of(entry.annotations)
    return () if account is None else (account,)


def _requests(ctx: Context, account: Key) -> dict[Key, TokenRequest]:
    """Return the Secrets that ask for tokens of a ServiceAccount, each with its request."""
    found = {}
    for entry in ctx.store(Secret).by_index(BY_ACCOUNT, account):
        if not entry.meta.deleting:
            try:
                found[entry.key] = read_request(entry.annotations)
            except TokenRequestError:
                continue  # its own pass reports the error
    return found


def _is_current(entry: Entry, desired: JsonObject) -> bool:
    owned = own_fields(entry.managed_fields, FIELD_MANAGER)
    return owned is not None and is_applied(entry.obj(), owned, desired)


def _own_labels(entry: Entry) -> dict[str, str]:
    owned = own_fields(entry.managed_fields, FIELD_MANAGER)
    mine = project(entry.obj(), owned) if owned is not None else {}
    return (mine.get("metadata") or {}).get("labels") or {}


def _annotations(secret: JsonObject) -> dict[str, str]:
    return secret["metadata"].get("annotations") or {}
