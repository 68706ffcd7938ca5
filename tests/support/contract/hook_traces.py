"""Random webhooks for random traces: what they are asked about, and how they react."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from hypothesis import strategies as st
from tests.support.contract.hooks import answer
from tests.support.contract.trace_player import LAST, TraceConversation
from tests.support.contract.trace_subjects import Json, Subject

from certwright.apiserver.webhooks.response import WebhookResponse

REACTIONS = (
    "allow", "allow", "deny", "forbid", "label", "label", "annotate", "unlabel", "warn", "count",
    "same", "status", "nonsense", "broken", "uid", "error", "spec",
)  # fmt: skip
CALM = ("allow", "allow", "allow")
"""Reactions of a second validating webhook: of two that refuse, either may be heard first."""
OPERATIONS = (["*"], ["CREATE"], ["UPDATE"], ["CREATE", "UPDATE"], ["DELETE"], ["CREATE", "DELETE"])
SELECTORS: tuple[Json, ...] = (
    {},
    {},
    {"matchLabels": {"tier": "a"}},
    {"matchExpressions": [{"key": "hooked", "operator": "DoesNotExist"}]},
)
CONDITIONS = (
    "",
    "",
    "request.operation != 'DELETE'",
    "object == null || object.metadata.name != 'two'",
    "oldObject != null",
    "object.metadata.labels.tier == 'a'",
)


@dataclass(frozen=True)
class TraceHook:
    """One webhook of a trace."""

    path: str
    reaction: str
    operations: list[str]
    parts: bool
    """Whether subresources concern it, too."""
    selector: Json
    condition: str
    policy: str
    reinvocation: str

    def document(self, url: str, authority: bytes, namespace: str, subject: Subject) -> Json:
        """Return it as a configuration lists it."""
        group = subject.path.split("/")[2] if subject.path.startswith("/apis") else ""
        plural = subject.path.rpartition("/")[2]
        names = [plural, f"{plural}/*"] if self.parts else [plural]
        found: Json = {
            "name": f"{self.path}.example.com",
            "clientConfig": {
                "url": f"{url}/{self.path}",
                "caBundle": base64.b64encode(authority).decode(),
            },
            "rules": [
                {
                    "apiGroups": [group],
                    "apiVersions": ["*"],
                    "resources": names,
                    "operations": self.operations,
                }
            ],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "failurePolicy": self.policy,
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "objectSelector": self.selector,
        }
        # The object that ends every history comes into being undisturbed, and so do probes.
        other = f"request.name != '{LAST}' && !request.name.startsWith('probe-')"
        found["matchConditions"] = [{"name": "other", "expression": other}]
        if self.condition:
            found["matchConditions"].append({"name": "c", "expression": self.condition})
        if self.path.startswith("m"):
            found["reinvocationPolicy"] = self.reinvocation
        return found

    def react(self, review: Json) -> Json | WebhookResponse:
        """Answer a review; the same answer to the same review, whoever asks."""
        match self.reaction:
            case "deny":
                return answer(review, allowed=False, status={"message": f"{self.path} says no"})
            case "forbid":
                status = {"code": 403, "reason": "Forbidden", "message": "never"}
                return answer(review, allowed=False, status=status)
            case "warn":
                return answer(review, warnings=[f"{self.path} warns"])
            case "uid":
                return answer(review, uid="another")
            case "error":
                return WebhookResponse(500, b"boom", "text/plain")
        found = review["request"]["object"]
        change = self._change(found) if self.path.startswith("m") and found else None
        return answer(review) if change is None else _patched(review, change)

    def _change(self, found: Json) -> Json | None:
        metadata = found.get("metadata") or {}
        labels, notes = metadata.get("labels") or {}, metadata.get("annotations") or {}
        match self.reaction:
            case "broken":
                return {"op": "remove", "path": "/metadata/nothing"}
            case "nonsense":
                return _add("/metadata/labels", {"not a label": "x"})
            case "label":
                return _add("/metadata/labels", {**labels, "hooked": self.path})
            case "unlabel" if labels:
                return {"op": "remove", "path": "/metadata/labels"}
            case "annotate":
                return _add("/metadata/annotations", {**notes, self.path: "was here"})
            case "count":
                number = str(int(notes.get(self.path, "0")) % 5 + 1)
                return _add("/metadata/annotations", {**notes, self.path: number})
            case "same":
                return _add("/metadata/name", metadata.get("name"))
            case "status":
                return _add("/status", {"replicas": 3})
            case "spec" if isinstance(found.get("spec"), dict):
                return _add("/spec/replicas", 2)
        return None


def _add(path: str, value: Any) -> Json:
    return {"op": "add", "path": path, "value": value}


def _patched(review: Json, *operations: Json) -> Json:
    encoded = base64.b64encode(orjson.dumps(operations)).decode()
    return answer(review, patchType="JSONPatch", patch=encoded)


def _hook(path: str, reactions: tuple[str, ...]) -> st.SearchStrategy[TraceHook]:
    return st.builds(
        TraceHook,
        st.just(path),
        st.sampled_from(reactions),
        st.sampled_from(OPERATIONS),
        st.booleans(),
        st.sampled_from(SELECTORS),
        st.sampled_from(CONDITIONS),
        st.sampled_from(("Fail", "Fail", "Ignore")),
        st.sampled_from(("Never", "IfNeeded")),
    )


@st.composite
def trace_hooks(draw: st.DrawFn) -> tuple[TraceHook, ...]:
    """Draw the webhooks of a trace: mutating ones, then validating ones."""
    mutating = draw(st.integers(0, 3))
    hooks = [draw(_hook(f"m{index}", REACTIONS)) for index in range(mutating)]
    hooks += [draw(_hook("v0", REACTIONS))] if draw(st.booleans()) else []
    hooks += [draw(_hook("v1", CALM))] if draw(st.booleans()) else []
    return tuple(hooks)


@dataclass
class HookedConversation(TraceConversation):
    """A conversation in which it is written down what webhooks were asked, too."""

    reviews: list[Json] = field(default_factory=list)

    def _write(self, asked: str, status: int, headers: Mapping[str, str], content: Any) -> None:
        super()._write(asked, status, headers, content)
        known = []
        for each in sorted(_of_last_try(self.reviews), key=_order):
            if each not in known:  # the real server may ask twice
                known.append(each)
        if known:
            self.heard.append({"asked": f"webhooks about {self.heard[-1]['asked']}"})
            self.heard[-1]["content"] = self.symbols.clean(known)
        self.reviews.clear()

    def listen(self, path: str, review: Json) -> None:
        """Note what a webhook was asked."""
        request = review["request"]
        left_out = {"uid", "userInfo"}
        found = {key: value for key, value in request.items() if key not in left_out}
        for key in ("object", "oldObject"):
            if found[key]:
                found[key] = _without_nulls(_without_owners(found[key]))
        self.reviews.append({"path": path, "request": found})


def _of_last_try(reviews: Sequence[Json]) -> list[Json]:
    """Leave out what was asked of a version that is not current any more.

    The real server takes an object from its watch cache first. If that lags behind, as on a busy
    machine, the write fails, and all is asked once more of the version that is stored.
    """

    def old(review: Json) -> tuple[str, str]:
        metadata = (review["request"]["oldObject"] or {}).get("metadata", {})
        return metadata.get("name", ""), metadata.get("resourceVersion", "")

    last = dict(old(review) for review in reviews)
    return [review for review in reviews if last[old(review)[0]] == old(review)[1]]


def _order(review: Json) -> tuple[str, str, str]:
    request = review["request"]
    shown = request["object"] or request["oldObject"]
    return review["path"], shown["metadata"].get("name", ""), orjson.dumps(review).decode()


def _without_nulls(found: Any) -> Any:
    # Go prints some fields that were never set, of incomplete objects.
    if isinstance(found, dict):
        return {key: _without_nulls(value) for key, value in found.items() if value is not None}
    return [_without_nulls(each) for each in found] if isinstance(found, list) else found


def _without_owners(found: Json) -> Json:
    # Of a Scale the embedded server shows none.
    kept = {key: value for key, value in found["metadata"].items() if key != "managedFields"}
    return {**found, "metadata": kept}
