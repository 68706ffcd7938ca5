"""The embedded API server: one object that answers requests like a kube-apiserver."""

from collections.abc import Iterable
from random import Random

from certwright.client.transport import Request, Response, Stream, Transport
from certwright.clock import SYSTEM, Clock
from certwright.kube.errors import ApiError
from certwright.testkit.apiserver.answers import refusal_response
from certwright.testkit.apiserver.backend import Backend
from certwright.testkit.apiserver.background import Background
from certwright.testkit.apiserver.builtins import served_kinds
from certwright.testkit.apiserver.calls import Call, parse_call, parse_path
from certwright.testkit.apiserver.deletion import Deletion
from certwright.testkit.apiserver.garbage import GarbageCollector
from certwright.testkit.apiserver.kinds import ServedKind
from certwright.testkit.apiserver.memory import MemoryTransport, RefusedStream
from certwright.testkit.apiserver.namespaces import NamespaceController
from certwright.testkit.apiserver.options import WriteOptions
from certwright.testkit.apiserver.patching import Patches
from certwright.testkit.apiserver.refusals import PathNotServed
from certwright.testkit.apiserver.registry import Registry
from certwright.testkit.apiserver.storage import Storage
from certwright.testkit.apiserver.users import ADMIN, AUTHENTICATED, MASTERS, User
from certwright.testkit.apiserver.verbs import Verbs
from certwright.testkit.apiserver.watches import WatchStream
from certwright.testkit.apiserver.writes import Writes

_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")


class ApiServer:
    """A Kubernetes API server in this process.

    `handle` and `watch` are the whole of it: synchronous, in memory, deterministic given
    *clock* and *rng*. `transport` puts them behind the client's seam. Nothing outlives the
    object, and two servers share nothing.
    """

    def __init__(
        self,
        *,
        clock: Clock = SYSTEM,
        rng: Random | None = None,
        kinds: Iterable[ServedKind] | None = None,
        history_limit: int = 10_000,
    ) -> None:
        rng = rng or Random()  # names and uids, nothing secret
        # Clients must not rely on where numbers start.
        storage = Storage(revision=rng.randrange(1_000, 1_000_000), history_limit=history_limit)
        registry = Registry(storage, served_kinds() if kinds is None else kinds)
        self._backend = Backend(storage, registry, clock, rng)
        deletion = Deletion(self._backend)
        writes = Writes(self._backend, deletion)
        self._verbs = Verbs(self._backend, writes, deletion)
        self._patches = Patches(self._backend, writes)
        self.background = Background(
            GarbageCollector(self._backend, deletion), NamespaceController(self._backend, deletion)
        )
        storage.on_change(self.background.observe)
        self._create_namespaces(writes)

    def handle(self, request: Request, user: User = ADMIN) -> Response:
        """Answer a request. What it sets off in the background is done before this returns."""
        call: Call | None = None
        try:
            call = self._understand(request, user)
            response = self._dispatch(call)
        except ApiError as error:
            response = refusal_response(error, call.warnings if call else ())
        self.background.run()
        return response

    def watch(self, request: Request, user: User = ADMIN) -> Stream:
        """Open a watch; a refusal is a stream with another status than 200."""
        try:
            call = self._understand(request, user)
            if call.verb != "watch":
                return RefusedStream(self.handle(request, user))
            return WatchStream(self._backend, call)
        except ApiError as error:
            return RefusedStream(refusal_response(error))

    def transport(
        self, user: str = ADMIN.name, groups: Iterable[str] = (MASTERS, AUTHENTICATED)
    ) -> Transport:
        """Return a transport that carries requests here as a user."""
        return MemoryTransport(self, User(user, tuple(groups)))

    def trim_history(self) -> None:
        """Forget all history: watches and pages that need it get 410 Gone."""
        self._backend.storage.trim_history()

    @property
    def resource_version(self) -> str:
        """The number of the latest write."""
        return str(self._backend.storage.revision)

    def _understand(self, request: Request, user: User) -> Call:
        address = parse_path(request.path)
        if address is None:
            raise PathNotServed("404 page not found")
        return parse_call(request, user, self._backend.registry, address, self._backend.clock)

    def _dispatch(self, call: Call) -> Response:
        match call.verb:
            case "get":
                return self._verbs.get(call)
            case "list":
                return self._verbs.list(call)
            case "create":
                return self._verbs.create(call)
            case "update":
                return self._verbs.update(call)
            case "patch":
                return self._patches.patch(call)
            case "delete":
                return self._verbs.delete(call)
            case _:
                return self._verbs.deletecollection(call)

    def _create_namespaces(self, writes: Writes) -> None:
        kind = self._backend.registry.find("", "v1", "namespaces")
        if kind is None:
            return
        options = WriteOptions("kube-apiserver", "Ignore")
        for name in _NAMESPACES:
            namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            writes.create(kind, "", namespace, options)
