"""The embedded API server: a Kubernetes API server in this process.

A request enters through `http`, is authorized in `access` and dispatched to `verbs`; `writes`,
`fields`, `schema` and the rules of `builtins` and `crds` decide what is stored, `storage` keeps it
and feeds the watches, and `controllers` do what a cluster does in the background.
"""

from certwright.apiserver.access.users import ADMIN, UserInfo, service_account
from certwright.apiserver.http.listener import Endpoint
from certwright.apiserver.server import ApiServer

__all__ = ["ADMIN", "ApiServer", "Endpoint", "UserInfo", "service_account"]
