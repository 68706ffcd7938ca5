"""Acting as somebody else, by request headers."""

from certwright.client.transport import Request
from certwright.kube.errors import BadRequest
from certwright.testkit.apiserver.access import Attributes, Authorizer
from certwright.testkit.apiserver.users import AUTHENTICATED, User, service_account

_PREFIX = "impersonate-"
_SERVICE_ACCOUNT = "system:serviceaccount:"


def effective_user(request: Request, user: User, authorizer: Authorizer) -> User:
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
    name = next((value for header, value in headers if header == "user"), "")
    groups = [value for header, value in headers if header == "group"]
    if not name:
        listed = ", ".join(f'"{group}"' for group in groups)
        raise BadRequest(
            f'requested &user.DefaultInfo{{Name:"", UID:"", Groups:[]string{{{listed}}}, '
            "Extra:map[string][]string(nil)} without impersonating a user name"
        )
    _check(user, name, groups, authorizer)
    if name.startswith(_SERVICE_ACCOUNT) and not groups:
        namespace, _, account = name.removeprefix(_SERVICE_ACCOUNT).partition(":")
        return service_account(namespace, account)
    if AUTHENTICATED not in groups and name != "system:anonymous":
        groups.append(AUTHENTICATED)
    uid = next((value for header, value in headers if header == "uid"), "")
    extra: dict[str, tuple[str, ...]] = {}
    for header, value in headers:
        if header.startswith("extra-"):
            key = header.removeprefix("extra-")
            extra[key] = (*extra.get(key, ()), value)
    return User(name, tuple(groups), uid, extra)


def _check(user: User, name: str, groups: list[str], authorizer: Authorizer) -> None:
    if name.startswith(_SERVICE_ACCOUNT):
        namespace, _, account = name.removeprefix(_SERVICE_ACCOUNT).partition(":")
        asked = Attributes("impersonate", "", "serviceaccounts", "", namespace, account)
    else:
        asked = Attributes("impersonate", "", "users", name=name)
    authorizer.check(user, asked)
    for group in groups:
        authorizer.check(user, Attributes("impersonate", "", "groups", name=group))
