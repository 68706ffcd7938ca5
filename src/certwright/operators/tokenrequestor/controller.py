"""The token requestor: Secrets that ask for a ServiceAccount's token get one, and keep it fresh.

A Secret says by its annotations (see `wishes`) of which ServiceAccount of the target cluster it
wants tokens. The ServiceAccount is kept as long as anybody asks for it, the token is renewed
well before it expires, and at once when the API server no longer accepts it.

Whether a token is due stands in the Secret's annotation, whether it is valid the API server
says, and the rest is in the stores. So a restart changes nothing, and neither does a crash at any
point: at worst a token is requested twice. Only a token that could not be stored yet is
remembered, for the next try.
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
    Credentials,
    filled,
    held_token,
    holds_ca_bundle,
)
from certwright.operators.tokenrequestor.kubeconfig import KubeconfigError
from certwright.operators.tokenrequestor.objects import account_object, requesters, target_secret
from certwright.operators.tokenrequestor.renewal import (
    RENEW_AFTER,
    renew_time,
    until_renewal,
    write_renew_time,
)
from certwright.operators.tokenrequestor.request import (
    PURPOSE,
    RENEW_TIMESTAMP,
    TOKEN_REQUESTOR,
    Wish,
    WishError,
    account_of,
    read_wish,
)
from certwright.operators.tokenrequestor.target import FIELD_MANAGER, IssuedToken, Target
from certwright.runtime import DONE, Context, Effect, Entry, Outcome, Rng, TerminalError, again

FINALIZER: Final = "resources.gardener.cloud/tokenrequestor-controller"
BY_ACCOUNT: Final = "account"


class Cause(StrEnum):
    """Why a token is requested."""

    DUE = "due"
    """There is none yet, or its time has come."""
    UNUSABLE = "unusable"
    """It is not where it should be, or opens nothing."""


class TokenRequestor:
    """Reconciles one Secret of the source cluster at a time.

    *namespace* is where it looks for Secrets, everywhere if empty; *ca_bundle* gives the
    authority of the target's API server, as PEM; *count* is told why each token was requested.
    """

    def __init__(
        self,
        target: Target,
        rng: Rng,
        ca_bundle: Callable[[], bytes],
        count: Callable[[Cause], None],
        namespace: str = "",
    ) -> None:
        self._target = target
        self._count = count
        self._rng = rng
        self._ca_bundle = ca_bundle
        self._namespace = namespace
        self._unstored: dict[Key, tuple[Wish, IssuedToken]] = {}

    async def reconcile(self, ctx: Context, key: Key) -> Outcome:
        """Make one Secret hold a fresh token, or clean up behind it."""
        if self._namespace and key.namespace != self._namespace:
            return DONE  # something is kept for it too, but not by us
        await self._target.synced()
        secret = ctx.get(Secret, key)
        if secret is None:
            return await self._abandoned(ctx, key)
        if "deletionTimestamp" in secret["metadata"]:
            await self._clean_up(ctx, key)
            await ctx.release(secret, FINALIZER)
            return DONE
        try:
            wish = read_wish(_annotations(secret))
            left = await self._serve(ctx, secret, key, wish)
        except (WishError, KubeconfigError) as error:
            raise TerminalError(str(error)) from error
        await self._clean_up(ctx, key, wish)
        return again(after=left)

    async def _serve(self, ctx: Context, secret: JsonObject, key: Key, wish: Wish) -> timedelta:
        """Give a Secret what it asks for; return how long that lasts."""
        bundle = self._bundle(wish)
        filled(secret.get("data") or {}, Credentials("", bundle))  # or there is no place for it
        held = await ctx.hold(secret, FINALIZER)
        existence = _Existence(ctx, secret, proven=held is Effect.WRITTEN)
        await self._keep_account(ctx, wish.account, existence)
        left = until_renewal(_annotations(secret).get(RENEW_TIMESTAMP), ctx.clock.now())
        if left is not None and await self._is_usable(secret, key, wish, bundle):
            return left
        self._count(Cause.DUE if left is None else Cause.UNUSABLE)
        if wish.target is not None and self._target.find(Secret, wish.target) is None:
            await existence.prove()
        return await self._renew(ctx, secret, key, wish, bundle)

    def _bundle(self, wish: Wish) -> bytes | None:
        if not wish.inject_ca_bundle:
            return None
        if bundle := self._ca_bundle():
            return bundle
        raise WishError(
            "the authority of the target cluster is not known, so it cannot be injected; name it"
            " in the target's kubeconfig (certificate-authority-data)"
        )

    async def _is_usable(
        self, secret: JsonObject, key: Key, wish: Wish, bundle: bytes | None
    ) -> bool:
        """Say whether the token is where it should be and opens what it should."""
        holder: JsonObject | None = secret
        if wish.target is not None:
            entry = self._target.find(Secret, wish.target)
            ours = entry is not None and key in requesters(entry.annotations)
            holder = entry.obj() if entry is not None and ours else None
        token = held_token(holder) if holder is not None else ""
        if holder is None or not token:
            return False
        if bundle is not None and not holds_ca_bundle(holder, bundle):
            return False
        return await self._target.accepts(token, wish.account)

    async def _renew(
        self, ctx: Context, secret: JsonObject, key: Key, wish: Wish, bundle: bytes | None
    ) -> timedelta:
        """Request a token and store it together with the time of its renewal."""
        issued = await self._token(key, wish, ctx.clock.now())
        data = secret.get("data") or {}
        new = filled(data, Credentials(issued.token, bundle))
        keys: dict[str, str | None] = {**new}
        if wish.target is not None:
            await self._target.apply(Secret, target_secret(wish.target, key, new))
            keys = {name: None for name in (TOKEN, CA_BUNDLE) if name in data}  # of earlier times
        now = ctx.clock.now()
        due = renew_time(now, issued.expiry, self._rng)
        change: JsonObject = {
            "metadata": {"annotations": {RENEW_TIMESTAMP: write_renew_time(due)}},
            **({"data": keys} if keys else {}),
        }
        await ctx.patch(secret, change)
        del self._unstored[key]
        return due - now

    async def _token(self, key: Key, wish: Wish, now: datetime) -> IssuedToken:
        """Request a token, unless the one of the last try is still as good as new."""
        asked, issued = self._unstored.get(key, (None, None))
        if issued is None or asked != wish or issued.expiry - now < wish.lifetime * RENEW_AFTER:
            issued = await self._target.request_token(wish.account, wish.lifetime)
            self._unstored[key] = (wish, issued)
        return issued

    async def _keep_account(
        self, ctx: Context, account: Key, existence: "_Existence | None" = None
    ) -> None:
        """Make the ServiceAccount as all who ask for it want it; no call if it is.

        It is created only for a Secret that exists.
        """
        entry = self._target.find(ServiceAccount, account)
        strangers = self._strangers(entry)
        labels = _own_labels(entry) if strangers and entry is not None else {}
        desired = account_object(account, _wishes(ctx, account), strangers, labels)
        if entry is not None and _is_current(entry, desired):
            return
        if entry is None and existence is not None:
            await existence.prove()
        await self._target.apply(ServiceAccount, desired)

    def _strangers(self, entry: Entry | None) -> list[Key]:
        """Return who else a ServiceAccount is kept for, in namespaces not looked at here."""
        if entry is None or not self._namespace:
            return []
        return [key for key in requesters(entry.annotations) if key.namespace != self._namespace]

    async def _clean_up(self, ctx: Context, key: Key, wish: Wish | None = None) -> None:
        """Remove what is kept for a Secret and no longer wished for."""
        self._unstored.pop(key, None)
        for entry in self._target.kept_for(ServiceAccount, key):
            if wish is not None and entry.key == wish.account:
                continue
            if _wishes(ctx, entry.key) or self._strangers(entry):
                await self._keep_account(ctx, entry.key)
            else:
                await self._target.delete(ServiceAccount, entry)
        for entry in self._target.kept_for(Secret, key):
            if wish is None or entry.key != wish.target:
                await self._target.delete(Secret, entry)

    async def _abandoned(self, ctx: Context, key: Key) -> Outcome:
        """Clean up behind a Secret that exists and is no longer labelled: nobody else would."""
        try:
            secret = await ctx.client.get(Secret, key)
        except NotFound:
            self._unstored.pop(key, None)
            return DONE
        metadata = secret["metadata"]
        asks = (metadata.get("labels") or {}).get(PURPOSE) == TOKEN_REQUESTOR
        if asks or FINALIZER not in metadata.get("finalizers", ()):
            return DONE  # it is another instance's, or nobody's
        await self._clean_up(ctx, key)
        finalizers = [name for name in metadata["finalizers"] if name != FINALIZER]
        exactly = {name: metadata[name] for name in ("uid", "resourceVersion")}
        await ctx.client.patch(Secret, key, {"metadata": {**exactly, "finalizers": finalizers}})
        return DONE


class _Existence:
    """Whether a Secret still exists, which is made sure of before anything is created for it.

    The stores of a process that just started may show the past: a Secret that is gone, and
    behind which a process before this one has cleaned up already.
    """

    def __init__(self, ctx: Context, secret: JsonObject, *, proven: bool) -> None:
        self._ctx = ctx
        self._secret = secret
        self._proven = proven

    async def prove(self) -> None:
        """Ask once.

        Raises:
            Conflict: it is gone or being deleted.
        """
        if self._proven:
            return
        key = key_of(self._secret)
        try:
            live = (await self._ctx.client.get(Secret, key))["metadata"]
        except NotFound:
            live = {}
        if live.get("uid") != self._secret["metadata"]["uid"] or "deletionTimestamp" in live:
            raise Conflict(f"Secret {key} is gone or being deleted; that has not arrived here yet")
        self._proven = True


def by_account(entry: Entry) -> tuple[Key, ...]:
    """Index the Secrets by the ServiceAccount they ask for."""
    account = account_of(entry.annotations)
    return () if account is None else (account,)


def _wishes(ctx: Context, account: Key) -> dict[Key, Wish]:
    """Return who asks for tokens of a ServiceAccount, and how."""
    found = {}
    for entry in ctx.store(Secret).by_index(BY_ACCOUNT, account):
        if not entry.meta.deleting:
            try:
                found[entry.key] = read_wish(entry.annotations)
            except WishError:
                continue  # it gets nothing, and is told so
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
