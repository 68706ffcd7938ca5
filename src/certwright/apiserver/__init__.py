"""A Kubernetes API server in this process, for tests, demonstrations and torture."""

from certwright.apiserver.access.users import ADMIN, UserInfo, service_account
from certwright.apiserver.http.listener import Endpoint
from certwright.apiserver.server import ApiServer

__all__ = ["ADMIN", "ApiServer", "Endpoint", "UserInfo", "service_account"]
