"""Who is asking."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from certwright.kube.objects import JsonObject

MASTERS = "system:masters"
"""Members of this group may do anything, whatever the roles say."""

AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"


@dataclass(frozen=True, slots=True)
class UserInfo:
    """An authenticated caller, as access decisions and reviews see it."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def is_master(self) -> bool:
        """Whether access rules do not apply."""
        return MASTERS in self.groups

    def info(self) -> JsonObject:
        """Return the user as reviews and signing requests describe it."""
        info: JsonObject = {"username": self.name}
        if self.uid:
            info["uid"] = self.uid
        if self.groups:
            info["groups"] = list(self.groups)
        if self.extra:
            info["extra"] = {key: list(values) for key, values in self.extra.items()}
        return info


ADMIN = UserInfo("kubernetes-admin", (MASTERS, AUTHENTICATED))

ANONYMOUS = UserInfo("system:anonymous", (UNAUTHENTICATED,))
"""Who shows no credentials."""


def certificate_user(certificate: Mapping[str, object] | None) -> UserInfo | None:
    """Return whom a verified client certificate stands for; None if there is none.

    *certificate* is what `ssl.SSLSocket.getpeercert` returns: its common name is the user's, its
    organizations are the groups.
    """
    subject = certificate.get("subject") if certificate else None
    parts = [part for parts in subject for part in parts] if isinstance(subject, tuple) else []
    name = next((value for kind, value in parts if kind == "commonName"), "")
    groups = [value for kind, value in parts if kind == "organizationName"]
    return UserInfo(name, (*groups, AUTHENTICATED)) if name else None


def service_account(namespace: str, name: str, uid: str = "") -> UserInfo:
    """Return the user a ServiceAccount's token stands for."""
    return UserInfo(
        f"system:serviceaccount:{namespace}:{name}",
        ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", AUTHENTICATED),
        uid,
    )
