"""A Kubernetes API server in this process, for tests, demonstrations and torture."""

from certwright.testkit.apiserver.front import Endpoint
from certwright.testkit.apiserver.server import ApiServer
from certwright.testkit.apiserver.users import ADMIN, User, service_account

__all__ = ["ADMIN", "ApiServer", "Endpoint", "User", "service_account"]
