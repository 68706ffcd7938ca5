"""Asking webhooks about a request: which ones, in which order, and what becomes of the object."""

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Final

from certwright.apiserver.admission.attributes import (
    CREATE,
    DELETE,
    UPDATE,
    AdmissionAttributes,
    Invocation,
    matching_invocation,
    namespace_matches,
    objects_match,
)
from certwright.apiserver.admission.configuration import AdmissionWebhook
from certwright.apiserver.admission.mutation import patched_object, pruned_object
from certwright.apiserver.admission.review import (
    AdmissionVerdict,
    WebhookFailed,
    admission_call,
    denial,
    internal_error,
    no_dry_run,
    read_patch,
    read_verdict,
)
from certwright.apiserver.admission.versions import in_version
from certwright.apiserver.backend import Backend
from certwright.apiserver.cel.expressions import ExpressionError
from certwright.apiserver.gotext import quoted
from certwright.apiserver.kinds.kind import ServedKind, needs_webhook
from certwright.apiserver.refusals import forbidden, not_found
from certwright.apiserver.storage.storage import StoredRecord
from certwright.apiserver.storage.versions import view
from certwright.apiserver.webhooks.conversions import convert
from certwright.apiserver.webhooks.reviews import ReviewCall
from certwright.kube.errors import ApiError
from certwright.kube.kinds import Namespace
from certwright.kube.objects import JsonObject

_WITHOUT_EFFECTS: Final = frozenset({"None", "NoneOnDryRun"})


class AdmissionRequest:
    """A request that webhooks may have something to say about.

    The object is asked about at most twice in each attempt: `mutate` before its last changes by
    the server, `validate` after them. What is done in between is done `once`.
    """

    def __init__(
        self,
        backend: Backend,
        kind: ServedKind,
        attributes: AdmissionAttributes,
        webhooks: tuple[tuple[AdmissionWebhook, ...], tuple[AdmissionWebhook, ...]],
        warnings: list[str],
    ) -> None:
        self._backend = backend
        self._kind = kind
        self._attributes = attributes
        self._mutating, self._validating = webhooks
        self._warnings = warnings
        self.shown: Callable[[JsonObject], JsonObject] | None = None
        """How validating webhooks see the object, if it is a part of it only, such as a Scale."""

    @property
    def is_part(self) -> bool:
        """Whether the request is about an object of another kind, such as a Scale."""
        return self._attributes.kind.kind != self._kind.resource.kind

    def once(self, revision: int, make: Callable[[], JsonObject]) -> JsonObject:
        """Return what *make* made of an object in the first attempt that came so far.

        *revision* is the number of the state that is replaced, 0 of new objects.
        """
        fresh = False

        def noted() -> tuple[JsonObject, list[str]]:
            nonlocal fresh
            fresh = True
            before = len(self._warnings)
            return make(), self._warnings[before:]

        obj, warnings = self._backend.reviews.once(("completed", revision), noted)
        if not fresh:
            self._warnings.extend(warnings)
        return obj

    def mutate(self, obj: JsonObject, old: JsonObject | None, revision: int = 0) -> JsonObject:
        """Return an object as mutating webhooks want it; the one given if there are none.

        Raises:
            ReviewsNeeded: a webhook has to be called first.
            ApiError: a webhook refuses the request, or cannot be called.
        """
        if not self._mutating:
            return obj
        attributes = self._about(obj, old)
        again: set[str] = set()
        asked: set[str] = set()
        obj, changed = self._round(0, attributes, revision, asked, again)
        if changed:
            obj, _ = self._round(1, attributes.with_object(obj), revision, asked, again)
        return pruned_object(obj, self._kind) if changed and not self.is_part else obj

    def validate(self, obj: JsonObject, old: JsonObject | None, revision: int = 0) -> None:
        """Ask validating webhooks, all at once.

        Raises:
            ReviewsNeeded: webhooks have to be called first.
            ApiError: a webhook refuses the request, or cannot be called.
        """
        if not self._validating:
            return
        if self.shown is not None:
            obj, old = self.shown(obj), None if old is None else self.shown(old)
        self._validate(self._about(obj, old), revision)

    def check_deletion(self, record: StoredRecord, **completed: Any) -> None:
        """Ask webhooks whether an object may be deleted; raises like `mutate` and `validate`.

        *completed* are options that the server added to those of the request.
        """
        old = view(record, self._kind)
        options = {"kind": "DeleteOptions", **self._attributes.options, **completed}
        attributes = replace(self._attributes, operation=DELETE, obj=None, old=old, options=options)
        # The requests of a collection differ in the object only.
        revision = record.revision
        self._round(0, attributes, revision, set(), set())
        self._validate(attributes, revision)

    def _about(self, obj: JsonObject, old: JsonObject | None) -> AdmissionAttributes:
        """Return the request to create an object, or to update it if there is an old one."""
        found = self._attributes
        operation = CREATE if old is None else UPDATE
        options = {"kind": f"{operation.capitalize()}Options", **found.options}
        name = found.name or (obj.get("metadata") or {}).get("name") or ""
        namespace = name if found.is_namespace else found.namespace
        return replace(
            found,
            operation=operation,
            obj=obj,
            old=old,
            options=options,
            name=name,
            namespace=namespace,
        )

    def _round(
        self,
        number: int,
        attributes: AdmissionAttributes,
        revision: int,
        asked: set[str],
        again: set[str],
    ) -> tuple[Any, bool]:
        """Ask mutating webhooks one by one; in a second round, only those in *again*.

        *asked* are those that want to be asked again if another one changes the object later;
        then they move to *again*.
        """
        changed = False
        for webhook in self._mutating:
            invocation = self._invocation(webhook, attributes)
            if invocation is None or (number and webhook.uid not in again):
                continue
            try:
                operations = self._operations(
                    ("mutating", number, revision), invocation, attributes
                )
            except WebhookFailed as failure:
                if not webhook.ignores_failures:
                    raise internal_error(failure.message) from None
                operations = []
            if operations:
                patched = self._patched(invocation, attributes.obj, operations)
                if patched != attributes.obj:
                    changed = True
                    again |= asked
                    asked.clear()
                attributes = attributes.with_object(patched)
            if webhook.is_reinvocable:
                asked.add(webhook.uid)
        return attributes.obj, changed

    def _operations(
        self, step: tuple[Hashable, ...], invocation: Invocation, attributes: AdmissionAttributes
    ) -> list[Any]:
        """Return the patch of a mutating webhook; empty if it wants no change."""
        webhook = invocation.webhook
        self._check_dry_run(webhook)
        call = self._call(invocation, attributes)
        answer = self._backend.reviews.answer((*step, webhook.uid), call)
        verdict = read_verdict(answer, webhook.name, webhook.review_version, mutating=True)
        self._note(webhook, verdict)
        operations = read_patch(verdict, webhook.name)
        if operations and attributes.obj is None:
            raise internal_error(
                f"admission webhook {quoted(webhook.name)} attempted to modify the object, which "
                "is not supported for this operation"
            )
        if operations and verdict.patch_type != "JSONPatch":
            why = f"unsupported patch type {quoted(verdict.patch_type)}"
            raise WebhookFailed(webhook.name, why)
        return operations

    def _validate(self, attributes: AdmissionAttributes, revision: int) -> None:
        asked: dict[Hashable, AdmissionWebhook] = {}
        calls: dict[Hashable, ReviewCall] = {}
        refusals: list[ApiError] = []
        for webhook in self._validating:
            invocation = self._invocation(webhook, attributes)
            if invocation is None:
                continue
            key: Hashable = ("validating", revision, webhook.uid)
            with _collected(refusals, webhook):
                self._check_dry_run(webhook)
                calls[key] = self._call(invocation, attributes)
                asked[key] = webhook
        answers = self._backend.reviews.answers(calls)
        for key, webhook in asked.items():
            with _collected(refusals, webhook):
                version = webhook.review_version
                verdict = read_verdict(answers[key], webhook.name, version, mutating=False)
                self._note(webhook, verdict)
        if refusals:
            raise refusals[0]

    def _note(self, webhook: AdmissionWebhook, verdict: AdmissionVerdict) -> None:
        self._warnings.extend(text for text in verdict.warnings if text)
        if not verdict.allowed:
            raise denial(webhook.name, verdict.status)

    def _check_dry_run(self, webhook: AdmissionWebhook) -> None:
        effects = webhook.document.get("sideEffects")
        if self._attributes.dry_run and effects not in _WITHOUT_EFFECTS:
            raise no_dry_run(webhook.name)

    def _invocation(
        self, webhook: AdmissionWebhook, attributes: AdmissionAttributes
    ) -> Invocation | None:
        """Return how a webhook is to be asked about a request; None if it is not."""
        invocation = matching_invocation(webhook, attributes)
        if invocation is None or not objects_match(webhook, attributes):
            return None
        if not self._is_in_namespace(webhook, attributes):
            return None
        return invocation if self._conditions_hold(invocation, attributes) else None

    def _is_in_namespace(self, webhook: AdmissionWebhook, attributes: AdmissionAttributes) -> bool:
        name = attributes.namespace
        record = self._backend.storage.collection("", "namespaces").get(name) if name else None
        labels = {name: record.metadata.get("labels") or {}} if record is not None else {}
        try:
            return namespace_matches(webhook, attributes, labels)
        except KeyError:
            raise not_found(Namespace, name) from None

    def _conditions_hold(self, invocation: Invocation, attributes: AdmissionAttributes) -> bool:
        webhook = invocation.webhook
        if not webhook.conditions:
            return True
        request = self._call(invocation, attributes).review["request"]
        values = {"object": request["object"], "oldObject": request["oldObject"]}
        values["request"] = request
        failures: list[str] = []
        for condition in webhook.conditions:
            try:
                if not condition.holds(values):
                    return False
            except ExpressionError as error:
                failures.append(str(error))
        if failures and not webhook.ignores_failures:
            why = failures[0] if len(failures) == 1 else f"[{', '.join(failures)}]"
            raise forbidden(self._kind.resource, attributes.name, why)
        return not failures

    def _call(self, invocation: Invocation, attributes: AdmissionAttributes) -> ReviewCall:
        shown = partial(self._shown, invocation)
        return admission_call(invocation, attributes, shown(attributes.obj), shown(attributes.old))

    def _shown(self, invocation: Invocation, obj: JsonObject | None) -> JsonObject | None:
        target = self._target(invocation)
        return obj if obj is None or target is None else self._converted(obj, self._kind, target)

    def _target(self, invocation: Invocation) -> ServedKind | None:
        """Return the other version in which a webhook wants to see the object; None if none."""
        if self.is_part or invocation.resource == self._attributes.resource:
            return None
        wanted = invocation.resource
        return self._backend.registry.find(wanted.group, wanted.version, wanted.resource)

    def _patched(
        self, invocation: Invocation, obj: JsonObject | None, operations: list[Any]
    ) -> JsonObject:
        assert obj is not None, "deletions are not patched"
        target = self._target(invocation)
        if self.is_part:
            return patched_object(obj, operations, None)
        if target is None:
            return patched_object(obj, operations, self._kind)
        shown = self._converted(obj, self._kind, target)
        return self._converted(patched_object(shown, operations, target), target, self._kind)

    def _converted(self, obj: JsonObject, kind: ServedKind, target: ServedKind) -> JsonObject:
        if needs_webhook(target, kind):
            return convert([obj], target, self._backend.reviews)[0]
        return in_version(obj, kind, target)


@contextmanager
def _collected(refusals: list[ApiError], webhook: AdmissionWebhook) -> Iterator[None]:
    """Collect a refusal instead of raising it; failures that are to be ignored are dropped."""
    try:
        yield
    except WebhookFailed as failure:
        if not webhook.ignores_failures:
            refusals.append(internal_error(failure.message))
    except ApiError as error:
        refusals.append(error)


def equivalent_kinds(backend: Backend, kind: ServedKind) -> Iterator[ServedKind]:
    """Yield the other versions in which the objects of a kind are served."""
    home, plural = backend.registry.collection(kind), kind.resource.plural
    for other in backend.registry:
        same_name = other.resource.plural == plural and other is not kind
        if same_name and backend.registry.collection(other) is home:
            yield other
