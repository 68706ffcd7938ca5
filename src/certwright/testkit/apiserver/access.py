"""Who may do what: RBAC, evaluated from the roles and bindings that are stored."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from certwright.kube.errors import Forbidden
from certwright.kube.identity import Resource
from certwright.kube.objects import JsonObject
from certwright.testkit.apiserver.backend import Backend
from certwright.testkit.apiserver.refusals import PathForbidden, details_of
from certwright.testkit.apiserver.storage import Record
from certwright.testkit.apiserver.users import User

_RBAC = "rbac.authorization.k8s.io"
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
class Verdict:
    """Whether it is allowed, and thanks to which binding."""

    allowed: bool
    reason: str = ""


class Authorizer:
    """Decides by the current roles and bindings; switched off, everything is allowed."""

    def __init__(self, backend: Backend, *, enabled: bool) -> None:
        self._backend = backend
        self._enabled = enabled

    def decide(self, user: User, attributes: Attributes) -> Verdict:
        """Say whether a user may do something."""
        if not self._enabled or user.is_master:
            return Verdict(allowed=True)
        for rule, reason in self._granted(user, attributes.namespace):
            if _covers(rule, attributes):
                return Verdict(allowed=True, reason=reason)
        return Verdict(allowed=False)

    def check(self, user: User, attributes: Attributes) -> None:
        """Refuse what a user may not do.

        Raises:
            Forbidden: with the words of kube-apiserver.
        """
        if not self.decide(user, attributes).allowed:
            raise _refusal(user, attributes)

    def rules(self, user: User, namespace: str) -> list[JsonObject]:
        """Return the rules that grant a user something in a namespace."""
        if not self._enabled:
            return [
                {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
                {"nonResourceURLs": ["*"], "verbs": ["*"]},
            ]
        return [rule for rule, _ in self._granted(user, namespace)]

    def _granted(self, user: User, namespace: str) -> Iterator[tuple[JsonObject, str]]:
        for binding in self._records("clusterrolebindings"):
            yield from self._bound(user, binding)
        if namespace:
            for binding in self._records("rolebindings", f"{namespace}/"):
                yield from self._bound(user, binding)

    def _bound(self, user: User, binding: Record) -> Iterator[tuple[JsonObject, str]]:
        for subject in binding.obj.get("subjects") or ():
            if not _is_subject(user, subject, binding.namespace):
                continue
            reference = binding.obj["roleRef"]
            namespace = binding.namespace if reference["kind"] == "Role" else ""
            shown = f"{binding.name}/{binding.namespace}" if binding.namespace else binding.name
            reason = (
                f'RBAC: allowed by {binding.obj["kind"]} "{shown}" of {reference["kind"]} '
                f'"{reference["name"]}" to {_shown(subject)}'
            )
            for rule in self._role_rules(reference["name"], namespace):
                yield rule, reason
            return

    def _role_rules(self, name: str, namespace: str) -> list[JsonObject]:
        plural = "roles" if namespace else "clusterroles"
        key = f"{namespace}/{name}" if namespace else name
        record = self._backend.storage.collection(_RBAC, plural).get(key)
        return (record.obj.get("rules") or []) if record is not None else []

    def _records(self, plural: str, prefix: str = "") -> Iterator[Record]:
        return self._backend.storage.collection(_RBAC, plural).records(prefix)


def _covers(rule: JsonObject, asked: Attributes) -> bool:
    if not _has(rule.get("verbs"), asked.verb):
        return False
    if asked.path:
        return any(_covers_path(url, asked.path) for url in rule.get("nonResourceURLs") or ())
    names = rule.get("resourceNames") or ()
    return (
        _has(rule.get("apiGroups"), asked.group)
        and _covers_resource(rule.get("resources") or (), asked)
        and (not names or asked.name in names)
    )


def _covers_resource(resources: Sequence[str], asked: Attributes) -> bool:
    if "*" in resources or asked.full_resource in resources:
        return True
    return bool(asked.subresource) and f"*/{asked.subresource}" in resources


def _covers_path(url: str, path: str) -> bool:
    if url in {"*", path}:
        return True
    return url.endswith("*") and path.startswith(url.rstrip("*"))


def _has(values: list[str] | None, wanted: str) -> bool:
    return values is not None and ("*" in values or wanted in values)


def _is_subject(user: User, subject: JsonObject, namespace: str) -> bool:
    match subject.get("kind"):
        case "User":
            return bool(subject.get("name") == user.name)
        case "Group":
            return subject.get("name") in user.groups
        case "ServiceAccount":
            where = subject.get("namespace") or namespace
            return user.name == f"{_SERVICE_ACCOUNT}{where}:{subject.get('name')}"
    return False


def _shown(subject: JsonObject) -> str:
    name = subject.get("name")
    if subject.get("kind") == "ServiceAccount":
        name = f"{name}/{subject.get('namespace')}"
    return f'{subject.get("kind")} "{name}"'


def _refusal(user: User, asked: Attributes) -> Forbidden:
    if asked.path:
        return PathForbidden(
            f'forbidden: User "{user.name}" cannot {asked.verb} path "{asked.path}"'
        )
    where = f'in the namespace "{asked.namespace}"' if asked.namespace else "at the cluster scope"
    resource = Resource(asked.group, "", "", asked.resource)
    subject = f'{resource.qualified} "{asked.name}"' if asked.name else resource.qualified
    return Forbidden(
        f'{subject} is forbidden: User "{user.name}" cannot {asked.verb} resource '
        f'"{asked.full_resource}" in API group "{asked.group}" {where}',
        details=details_of(resource, asked.name),
    )
