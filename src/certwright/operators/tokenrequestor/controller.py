"""The token requestor: keeps a valid token of a ServiceAccount in each Secret that asks for one.

The annotations of a Secret (see `request`) name the ServiceAccount of the target cluster. The
ServiceAccount is kept as long as a Secret asks for it; the token is renewed well before it
expires, and at once when the API server no longer accepts it.

An annotation of the Secret holds the time of renewal, the API server decides whether a token is
valid, and the rest is in the stores. So a restart changes nothing, and neither does a crash at
any point: at worst a token is requested twice. Only a token that could not be stored yet is
kept in memory, for the next try.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from certwright.kube import Conflict, JsonObject, Key, NotFound, key_of
from certwright.kube.kinds import Secret, ServiceAccount
from certwright.operators.tokenrequestor.contents import (
    CA_BUNDLE,
    KUBECONFIG,
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
    TARGET_NAME,
    TOKEN_REQUESTOR,
    TokenRequest,
    TokenRequestError,
    account_of,
    check_scope,
    read_request,
    renew_time,
    until_renewal,
    write_renew_time,
)
from certwright.operators.tokenrequestor.target import (
    IssuedToken,
    TokenTarget,
    account_object,
    account_patch,
    is_kept,
    is_of_predecessor,
    own_labels,
    requesters,
    target_secret,
)
from certwright.runtime import DONE, Context, Effect, Entry, Outcome, TerminalError, again
from certwright.runtime.queue.backoff import Rng

FINALIZER: Final = "resources.gardener.cloud/tokenrequestor-controller"
BY_ACCOUNT: Final = "account"
FOREIGN_TARGET_PERIOD: Final = timedelta(minutes=5)
"""How often it is tried again to create a Secret of the target cluster that is another one's."""
_WRITTEN: Final = (TOKEN, CA_BUNDLE, KUBECONFIG)
"""The keys of a Secret in the target cluster that we write."""


class RequestCause(StrEnum):
    """Why a token is requested."""

    DUE = "due"
    """There is none yet, or it is time to renew it."""
    UNUSABLE = "unusable"
    """It is not where it should be, or the API server does not accept it."""


class ForeignTarget(TokenRequestError):
    """The Secret of the target cluster that is to get the token is not ours."""


class TokenRequestor:
    """Reconciles one Secret of the source cluster at a time.

    *namespace* limits it to the Secrets there, all if empty; *ca_bundle* returns the authority of
    the target's API server as PEM; *count* is called with the cause of each token request;
    *allowed* are the ServiceAccounts that Secrets of other namespaces may ask for (`check_scope`).
    """

    def __init__(
        self,
        target: TokenTarget,
        rng: Rng,
        ca_bundle: Callable[[], bytes],
        count: Callable[[RequestCause], None],
        namespace: str = "",
        allowed: Sequence[str] = (),
    ) -> None:
        self._target = target
        self._allowed = allowed
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
            check_scope(request, key, self._allowed)
            left = await self._keep_token(ctx, secret, key, request)
        except ForeignTarget as error:
            ctx.event(secret, "Warning", "TargetSecretExists", str(error))
            return again(after=FOREIGN_TARGET_PERIOD)
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
            await self._store_in_target(request, key, new)
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

    async def _store_in_target(self, request: TokenRequest, key: Key, data: dict[str, str]) -> None:
        """Write the Secret of the target cluster, unless one is there that is not ours."""
        assert request.target is not None
        desired = target_secret(request.target, key, data)
        entry = self._target.find(Secret, request.target)
        live = entry.obj() if entry is not None else await self._target.create(Secret, desired)
        if live is None:
            return
        ours = key in requesters(live["metadata"].get("annotations") or {})
        if not ours and not (
            is_of_predecessor(live)
            and await self._target.accepts(held_token(live), request.account)
        ):
            raise ForeignTarget(
                f"the Secret {request.target} of the target cluster was not created for this one"
                " and stays as it is; delete it, or name another one in the annotation"
                f" {TARGET_NAME}"
            )
        rest = {name: None for name in _WRITTEN if name in (live.get("data") or {})}
        metadata = {name: desired["metadata"][name] for name in ("labels", "annotations")}
        await self._target.change(Secret, live, {"metadata": metadata, "data": {**rest, **data}})

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
        """Keep the ServiceAccount with all labels asked for, created only if the Secret exists.

        One that is there and not ours stays as it is; the Secret gets tokens of it all the same.
        """
        entry = self._target.find(ServiceAccount, account)
        if entry is None and self._target.is_foreign(account):
            return
        others = self._other_requesters(entry)
        mine = own_labels(entry.obj(), entry.managed_fields) if entry is not None else {}
        requests = _requests(ctx, account, self._allowed)
        desired = account_object(account, requests, others, mine if others else {})
        if entry is not None:
            await self._change_account(entry.obj(), desired, mine)
            return
        live = None
        if existence is not None:
            if existence.had_token:  # so there was an account; it need not be one of ours
                live = await self._target.look(ServiceAccount, account)
            await existence.confirm()
        if live is None:
            live = await self._target.create(ServiceAccount, desired)
        if live is not None and is_kept(live):  # the store was behind
            managed = live["metadata"].get("managedFields") or ()
            await self._change_account(live, desired, own_labels(live, managed))
        elif live is not None and is_of_predecessor(live):
            await self._change_account(live, desired, {})

    async def _change_account(
        self, live: JsonObject, desired: JsonObject, mine: dict[str, str]
    ) -> None:
        if (patch := account_patch(live, desired, mine)) is not None:
            await self._target.change(ServiceAccount, live, patch)

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
            if _requests(ctx, entry.key, self._allowed) or self._other_requesters(entry):
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
        self.had_token = RENEW_TIMESTAMP in _annotations(secret)

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


def _requests(ctx: Context, account: Key, allowed: Sequence[str]) -> dict[Key, TokenRequest]:
    """Return the Secrets that may ask for tokens of a ServiceAccount, each with its request."""
    found = {}
    for entry in ctx.store(Secret).by_index(BY_ACCOUNT, account):
        if not entry.meta.deleting:
            try:
                request = read_request(entry.annotations)
                check_scope(request, entry.key, allowed)
            except TokenRequestError:
                continue  # its own pass reports the error
            found[entry.key] = request
    return found


def _annotations(secret: JsonObject) -> dict[str, str]:
    return secret["metadata"].get("annotations") or {}
