"""Privilege escalation: users grant and certify only what they are allowed themselves."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Final

import orjson

from certwright.apiserver.access.rbac import (
    EVERYTHING,
    RBAC,
    Attributes,
    Authorizer,
    covers_path,
    covers_resource,
    has,
    joined,
)
from certwright.apiserver.access.users import UserInfo
from certwright.apiserver.backend import Backend
from certwright.apiserver.http.options import WriteParameters
from certwright.apiserver.kinds.kind import ServedKind
from certwright.apiserver.refusals import forbidden, not_found
from certwright.apiserver.storage.storage import StoredRecord
from certwright.apiserver.storage.versions import view
from certwright.apiserver.writes.deletion import ObjectDeleter
from certwright.apiserver.writes.signingrequests import is_signing_request
from certwright.apiserver.writes.writes import ObjectWriter
from certwright.kube.objects import JsonObject

_ROLES: Final = ("roles", "clusterroles")
_BINDINGS: Final = ("rolebindings", "clusterrolebindings")
_COLLECTED: Final = ("ownerReferences", "finalizers", "managedFields", "resourceVersion")
"""What garbage collection changes: that grants nothing."""
_PARTS: Final = (
    ("APIGroups", "apiGroups"),
    ("Resources", "resources"),
    ("NonResourceURLs", "nonResourceURLs"),
    ("ResourceNames", "resourceNames"),
    ("Verbs", "verbs"),
)


class AuthorizedWriter(ObjectWriter):
    """Writes in which users grant only what they are granted themselves.

    Those who may ``escalate`` a role or ``bind`` it are exempt, and so are members of
    system:masters and the server itself. Verdicts on signing requests need the right to
    ``approve`` for their signer, and certificates the right to ``sign``.
    """

    def __init__(self, backend: Backend, deletion: ObjectDeleter, authorizer: Authorizer) -> None:
        super().__init__(backend, deletion)
        self._authorizer = authorizer

    def insert(self, kind: ServedKind, obj: JsonObject, options: WriteParameters) -> StoredRecord:
        """Store a new object whose owners are recorded."""
        self._check(kind, obj, None, options.user)
        return super().insert(kind, obj, options)

    def replace(
        self,
        kind: ServedKind,
        record: StoredRecord,
        new: JsonObject,
        options: WriteParameters,
        subresource: str = "",
    ) -> StoredRecord:
        """Store an object, whose owners are recorded, over the one that is there."""
        self._check(kind, new, view(record, kind), options.user)
        if is_signing_request(kind) and options.user is not None:
            self._check_signer(kind, new, record.obj, options.user, subresource)
        return super().replace(kind, record, new, options, subresource)

    def _check(
        self, kind: ServedKind, new: JsonObject, old: JsonObject | None, user: UserInfo | None
    ) -> None:
        is_guarded = kind.resource.group == RBAC and user is not None and not user.is_master
        if not is_guarded or (old is not None and _gives_the_same(new, old)):
            return
        assert user is not None
        if kind.resource.plural in _ROLES:
            self._check_role(kind, new, old, user)
        elif kind.resource.plural in _BINDINGS:
            self._check_binding(kind, new, user)

    def _check_signer(
        self, kind: ServedKind, new: JsonObject, old: JsonObject, user: UserInfo, subresource: str
    ) -> None:
        """Refuse verdicts and certificates of users who may not act for the signer."""
        verb = {"approval": "approve", "status": "sign"}.get(subresource)
        if verb is None or (verb == "sign" and _certifies_the_same(new, old)):
            return
        signer = old["spec"]["signerName"]
        for name in (signer, f"{signer.partition('/')[0]}/*"):
            asked = Attributes(verb, kind.resource.group, "signers", name=name)
            if self._authorizer.decide(user, asked).allowed:
                return
        why = f"user not permitted to {verb} requests with signerName {_quoted(signer)}"
        raise forbidden(kind.resource, old["metadata"]["name"], why)

    def _check_role(
        self, kind: ServedKind, new: JsonObject, old: JsonObject | None, user: UserInfo
    ) -> None:
        namespace, name = new["metadata"].get("namespace", ""), new["metadata"].get("name", "")
        path_name = name if old is not None else ""
        asked = Attributes("escalate", RBAC, kind.resource.plural, "", namespace, path_name)
        if self._authorizer.decide(user, asked).allowed:
            return
        if lacking := self._lacking(user, namespace, new.get("rules") or ()):
            raise forbidden(kind.resource, name, lacking)
        gathers = any((role or {}).get("aggregationRule") for role in (new, old))
        if gathers and self._lacking(user, namespace, EVERYTHING):
            why = "must have cluster-admin privileges to use the aggregationRule"
            raise forbidden(kind.resource, name, why)

    def _check_binding(self, kind: ServedKind, new: JsonObject, user: UserInfo) -> None:
        reference = new.get("roleRef") or {}
        namespace, name = new["metadata"].get("namespace", ""), new["metadata"].get("name", "")
        plural = {"Role": "roles", "ClusterRole": "clusterroles"}.get(reference.get("kind", ""))
        if plural is None:
            return  # validation has more to say about it
        asked = Attributes("bind", RBAC, plural, "", namespace, reference["name"])
        if self._authorizer.decide(user, asked).allowed:
            return
        rules = self._authorizer.role_rules(reference, namespace)
        if rules is None:
            raise not_found(kind.resource, reference["name"])  # the server names the wrong kind
        if lacking := self._lacking(user, namespace, rules):
            raise forbidden(kind.resource, name, lacking)

    def _lacking(self, user: UserInfo, namespace: str, wanted: Iterable[JsonObject]) -> str:
        """Return which of the rules a user does not have; empty if none."""
        owned, problems = self._authorizer.rules(user, namespace)
        missing = [
            atom
            for rule in wanted
            for atom in _atoms(rule)
            if not any(_includes(mine, atom) for mine in owned)
        ]
        if not missing:
            return ""
        groups = " ".join(_quoted(group) for group in user.groups)
        lines = "\n".join(sorted({_shown(rule) for rule in _compacted(missing)}))
        amiss = f"; resolution errors: [{joined(problems)}]" if problems else ""
        return (
            f"user {_quoted(user.name)} (groups=[{groups}]) is attempting to grant RBAC "
            f"permissions not currently held:\n{lines}{amiss}"
        )


def _gives_the_same(new: JsonObject, old: JsonObject) -> bool:
    def rest(obj: JsonObject) -> JsonObject:
        kept = {key: value for key, value in obj["metadata"].items() if key not in _COLLECTED}
        return {**obj, "metadata": kept}

    return rest(new) == rest(old)


def _certifies_the_same(new: JsonObject, old: JsonObject) -> bool:
    before, after = old.get("status") or {}, new.get("status") or {}
    fields = ("certificate", "conditions")
    return all((before.get(field) or None) == (after.get(field) or None) for field in fields)


def _atoms(rule: JsonObject) -> Iterator[JsonObject]:
    """Take a rule apart into rules of one verb on one thing."""
    verbs, names = rule.get("verbs") or (), rule.get("resourceNames") or ()
    things = product(rule.get("apiGroups") or (), rule.get("resources") or (), verbs, names or [""])
    for group, resource, verb, name in things:
        atom: JsonObject = {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
        yield {**atom, "resourceNames": [name]} if names else atom
    for url, verb in product(rule.get("nonResourceURLs") or (), verbs):
        yield {"nonResourceURLs": [url], "verbs": [verb]}


def _includes(mine: JsonObject, atom: JsonObject) -> bool:
    """Return whether a rule grants all that a rule of one verb on one thing does."""
    if not has(mine.get("verbs"), atom["verbs"][0]):
        return False
    if "nonResourceURLs" in atom:
        wanted = atom["nonResourceURLs"][0]
        return any(covers_path(url, wanted) for url in mine.get("nonResourceURLs") or ())
    named, wanted_names = mine.get("resourceNames") or (), atom.get("resourceNames") or ("",)
    return (
        has(mine.get("apiGroups"), atom["apiGroups"][0])
        and covers_resource(mine.get("resources") or (), atom["resources"][0])
        and (not named or wanted_names[0] in named)
    )


def _compacted(atoms: Sequence[JsonObject]) -> Iterator[JsonObject]:
    """Join what differs in verbs only; paths stay apart."""
    by_thing: dict[str, JsonObject] = {}
    for atom in atoms:
        thing = {part: value for part, value in atom.items() if part != "verbs"}
        if "nonResourceURLs" in atom:
            yield atom
            continue
        found = by_thing.setdefault(repr(thing), {**thing, "verbs": []})
        found["verbs"] = [*found["verbs"], *atom["verbs"]]
    yield from by_thing.values()


def _shown(rule: JsonObject) -> str:
    parts = [
        f"{label}:[{' '.join(_quoted(value) for value in rule[field])}]"
        for label, field in _PARTS
        if rule.get(field)
    ]
    return "{" + ", ".join(parts) + "}"


def _quoted(text: str) -> str:
    return orjson.dumps(text).decode()
