"""Who may do what: RBAC, evaluated from the roles and bindings that are stored."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from certwright.apiserver.access.users import UserInfo
from certwright.apiserver.backend import Backend
from certwright.apiserver.refusals import PathForbidden, details_of
from certwright.apiserver.storage.storage import StoredRecord
from certwright.kube.errors import Forbidden
from certwright.kube.objects import JsonObject, Resource

RBAC = "rbac.authorization.k8s.io"
EVERYTHING: tuple[JsonObject, ...] = (
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
    {"nonResourceURLs": ["*"], "verbs": ["*"]},
)
"""The rules of those who may do anything."""
_SERVICE_ACCOUNT = "system:serviceaccount:"


@dataclass(frozen=True, slots=True)
class Attributes:
    """What is being asked for: a verb on a resource, or on a path that is none."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""

    @property
    def full_resource(self) -> str:
        """The resource as roles name it: with its subresource."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


@dataclass(frozen=True, slots=True)
class AccessDecision:
    """Whether it is allowed, and thanks to which binding."""

    allowed: bool
    reason: str = ""


class Authorizer:
    """Decides by the current roles and bindings; switched off, everything is allowed."""

    def __init__(self, backend: Backend, *, enabled: bool) -> None:
        self._backend = backend
        self.enabled = enabled

    def trusts(self, user: UserInfo) -> bool:
        """Return whether a user may do anything."""
        return not self.enabled or user.is_master

    def decide(self, user: UserInfo, attributes: Attributes) -> AccessDecision:
        """Return whether a user may do something."""
        if self.trusts(user):
            return AccessDecision(allowed=True)
        problems: list[str] = []
        for rule, reason in self._granted(user, attributes.namespace, problems):
            if _covers(rule, attributes):
                return AccessDecision(allowed=True, reason=reason)
        return AccessDecision(allowed=False, reason=f"RBAC: {joined(problems)}" if problems else "")

    def check(self, user: UserInfo, attributes: Attributes) -> None:
        """Refuse what a user may not do: `Forbidden`, with the words of kube-apiserver."""
        verdict = self.decide(user, attributes)
        if not verdict.allowed:
            raise _refusal(user, attributes, verdict.reason)

    def rules(self, user: UserInfo, namespace: str) -> tuple[list[JsonObject], list[str]]:
        """Return the rules that grant a user something in a namespace, and what is amiss."""
        if not self.enabled:
            return list(EVERYTHING), []
        problems: list[str] = []
        return [rule for rule, _ in self._granted(user, namespace, problems)], problems

    def role_rules(self, reference: JsonObject, namespace: str) -> list[JsonObject] | None:
        """Return the rules of the role a binding in a namespace names; None if there is none."""
        is_local = reference["kind"] == "Role"
        plural = "roles" if is_local else "clusterroles"
        key = f"{namespace}/{reference['name']}" if is_local else reference["name"]
        record = self._backend.storage.collection(RBAC, plural).get(key)
        return (record.obj.get("rules") or []) if record is not None else None

    def _granted(
        self, user: UserInfo, namespace: str, problems: list[str]
    ) -> Iterator[tuple[JsonObject, str]]:
        """Yield rules, and thanks to what they count; bindings to nothing are *problems*."""
        for binding in self._records("clusterrolebindings"):
            yield from self._bound(user, binding, problems)
        if namespace:
            for binding in self._records("rolebindings", f"{namespace}/"):
                yield from self._bound(user, binding, problems)

    def _bound(
        self, user: UserInfo, binding: StoredRecord, problems: list[str]
    ) -> Iterator[tuple[JsonObject, str]]:
        subjects = binding.obj.get("subjects") or ()
        subject = next((s for s in subjects if _is_subject(user, s, binding.namespace)), None)
        if subject is None:
            return
        reference = binding.obj["roleRef"]
        rules = self.role_rules(reference, binding.namespace)
        if rules is None:
            problems.append(missing_role(reference))
            return
        shown = f"{binding.name}/{binding.namespace}" if binding.namespace else binding.name
        reason = (
            f'RBAC: allowed by {binding.obj["kind"]} "{shown}" of {reference["kind"]} '
            f'"{reference["name"]}" to {_shown(subject, binding.namespace)}'
        )
        for rule in rules:
            yield rule, reason

    def _records(self, plural: str, prefix: str = "") -> Iterator[StoredRecord]:
        return self._backend.storage.collection(RBAC, plural).records(prefix)


def missing_role(reference: JsonObject) -> str:
    """Return the error for a binding whose role does not exist."""
    return f'{reference["kind"].lower()}.{RBAC} "{reference["name"]}" not found'


def joined(problems: Sequence[str]) -> str:
    """Return several problems as one, each said once."""
    said = list(dict.fromkeys(problems))
    return said[0] if len(said) == 1 else f"[{', '.join(said)}]"


def _covers(rule: JsonObject, asked: Attributes) -> bool:
    if not has(rule.get("verbs"), asked.verb):
        return False
    if asked.path:
        return any(covers_path(url, asked.path) for url in rule.get("nonResourceURLs") or ())
    names = rule.get("resourceNames") or ()
    return (
        has(rule.get("apiGroups"), asked.group)
        and covers_resource(rule.get("resources") or (), asked.full_resource)
        and (not names or asked.name in names)
    )


def covers_resource(resources: Sequence[str], wanted: str) -> bool:
    """Return whether a rule names a resource, or subresource such as ``pods/log``."""
    part = wanted.partition("/")[2]
    return has(resources, wanted) or (bool(part) and f"*/{part}" in resources)


def covers_path(url: str, path: str) -> bool:
    """Return whether a URL of a rule, which may end in a star, stands for a path."""
    return url == path or (url.endswith("*") and path.startswith(url.rstrip("*")))


def has(values: Sequence[str] | None, wanted: str) -> bool:
    """Return whether a part of a rule names something, or everything."""
    return values is not None and ("*" in values or wanted in values)


def _is_subject(user: UserInfo, subject: JsonObject, namespace: str) -> bool:
    match subject.get("kind"):
        case "User":
            return bool(subject.get("name") == user.name)
        case "Group":
            return subject.get("name") in user.groups
        case "ServiceAccount":
            where = subject.get("namespace") or namespace
            return user.name == f"{_SERVICE_ACCOUNT}{where}:{subject.get('name')}"
    return False


def _shown(subject: JsonObject, namespace: str) -> str:
    name = subject.get("name")
    if subject.get("kind") == "ServiceAccount":
        name = f"{name}/{subject.get('namespace') or namespace}"
    return f'{subject.get("kind")} "{name}"'


def _refusal(user: UserInfo, asked: Attributes, reason: str) -> Forbidden:
    because = f": {reason}" if reason else ""
    if asked.path:
        return PathForbidden(
            f'forbidden: User "{user.name}" cannot {asked.verb} path "{asked.path}"{because}'
        )
    where = f'in the namespace "{asked.namespace}"' if asked.namespace else "at the cluster scope"
    resource = Resource(asked.group, "", "", asked.resource)
    subject = f'{resource.qualified} "{asked.name}"' if asked.name else resource.qualified
    return Forbidden(
        f'{subject} is forbidden: User "{user.name}" cannot {asked.verb} resource '
        f'"{asked.full_resource}" in API group "{asked.group}" {where}{because}',
        details=details_of(resource, asked.name),
    )
