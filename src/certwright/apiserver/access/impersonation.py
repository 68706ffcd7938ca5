"""Impersonation: acting as another user, by request headers."""

from dataclasses import replace
from urllib.parse import unquote

from certwright.apiserver.access.rbac import Attributes, Authorizer
from certwright.apiserver.access.users import (
    ANONYMOUS,
    AUTHENTICATED,
    UNAUTHENTICATED,
    UserInfo,
    service_account,
)
from certwright.client.transport import Request
from certwright.kube.errors import BadRequest

_PREFIX = "impersonate-"
_SERVICE_ACCOUNT = "system:serviceaccount:"
_AUTHENTICATION = "authentication.k8s.io"


def effective_user(request: Request, user: UserInfo, authorizer: Authorizer) -> UserInfo:
    """Return the user a request is to be carried out as.

    Raises:
        Forbidden: the caller may not act as that user.
        BadRequest: the headers name groups but no user.
    """
    headers = [
        (name.lower().removeprefix(_PREFIX), value)
        for name, value in request.headers
        if name.lower().startswith(_PREFIX)
    ]
    if not headers:
        return user
    asked = _asked(headers)
    if not asked.name:
        raise BadRequest(f"requested {_shown(asked)} without impersonating a user name")
    _check(user, asked, authorizer)
    if asked.name.startswith(_SERVICE_ACCOUNT) and not asked.groups:
        namespace, _, account = asked.name.removeprefix(_SERVICE_ACCOUNT).partition(":")
        return replace(service_account(namespace, account), uid=asked.uid, extra=asked.extra)
    if asked.name == ANONYMOUS.name:
        known, added = {UNAUTHENTICATED}, UNAUTHENTICATED
    else:
        known, added = {AUTHENTICATED, UNAUTHENTICATED}, AUTHENTICATED
    if known.isdisjoint(asked.groups):
        return replace(asked, groups=(*asked.groups, added))
    return asked


def _asked(headers: list[tuple[str, str]]) -> UserInfo:
    extra: dict[str, tuple[str, ...]] = {}
    for header, value in headers:
        if header.startswith("extra-"):
            key = unquote(header.removeprefix("extra-"))
            extra[key] = (*extra.get(key, ()), value)
    return UserInfo(
        name=next((value for header, value in headers if header == "user"), ""),
        groups=tuple(value for header, value in headers if header == "group"),
        uid=next((value for header, value in headers if header == "uid"), ""),
        extra=extra,
    )


def _shown(user: UserInfo) -> str:
    """Print a user as Go prints it."""
    extra = ", ".join(f'"{key}":{_strings(values)}' for key, values in sorted(user.extra.items()))
    shown = f"map[string][]string{{{extra}}}" if extra else "map[string][]string(nil)"
    groups = _strings(user.groups) if user.groups else "[]string(nil)"
    return f'&user.DefaultInfo{{Name:"", UID:"{user.uid}", Groups:{groups}, Extra:{shown}}}'


def _strings(values: tuple[str, ...]) -> str:
    listed = ", ".join(f'"{value}"' for value in values)
    return f"[]string{{{listed}}}"


def _check(user: UserInfo, asked: UserInfo, authorizer: Authorizer) -> None:
    if asked.name.startswith(_SERVICE_ACCOUNT):
        namespace, _, account = asked.name.removeprefix(_SERVICE_ACCOUNT).partition(":")
        wanted = [Attributes("impersonate", "", "serviceaccounts", "", namespace, account)]
    else:
        wanted = [Attributes("impersonate", "", "users", name=asked.name)]
    wanted += [Attributes("impersonate", "", "groups", name=group) for group in asked.groups]
    wanted += [
        Attributes("impersonate", _AUTHENTICATION, "userextras", key, name=value)
        for key, values in asked.extra.items()
        for value in values
    ]
    if asked.uid:
        wanted.append(Attributes("impersonate", _AUTHENTICATION, "uids", name=asked.uid))
    for attributes in wanted:
        authorizer.check(user, attributes)
