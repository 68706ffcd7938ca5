"""From an understood request to the code that carries it out."""

from collections.abc import Callable

from certwright.apiserver.access.rbac import Authorizer
from certwright.apiserver.access.tokens import Tokens
from certwright.apiserver.backend import Backend
from certwright.apiserver.http.request import Call
from certwright.apiserver.refusals import forbidden, method_not_allowed
from certwright.apiserver.verbs.actions import Actions
from certwright.apiserver.verbs.logs import Logs
from certwright.apiserver.verbs.patches import Patches
from certwright.apiserver.verbs.reviews import Reviews
from certwright.apiserver.verbs.scale import Scales
from certwright.apiserver.verbs.verbs import Verbs
from certwright.apiserver.writes.deletion import ObjectDeleter
from certwright.apiserver.writes.writes import ObjectWriter
from certwright.client.transport import Response


class Dispatch:
    """Chooses what carries out a call."""

    def __init__(
        self,
        backend: Backend,
        writes: ObjectWriter,
        deletion: ObjectDeleter,
        authorizer: Authorizer,
        tokens: Tokens,
    ) -> None:
        self._backend = backend
        self._verbs = Verbs(backend, writes, deletion)
        self._by_verb: dict[str, Callable[[Call], Response]] = {
            "get": self._verbs.get,
            "list": self._verbs.list,
            "create": self._create,
            "update": self._verbs.update,
            "patch": Patches(backend, writes, authorizer).patch,
            "delete": self._verbs.delete,
            "deletecollection": self._verbs.deletecollection,
        }
        self._scales = Scales(backend, writes)
        self._actions = Actions(backend, deletion, tokens)
        self._reviews = Reviews(authorizer, tokens)
        self.logs = Logs(backend)

    def __call__(self, call: Call) -> Response:
        """Carry out a call; `NotAcceptable` if the client takes no answer the server could give."""
        call.check_acceptable()
        if call.subresource == "scale":
            return self._scales.answer(call)
        if call.subresource == "log" and call.verb == "get":
            return self.logs.answer(call)
        carry_out = self._by_verb.get(call.verb)
        if carry_out is None or (call.verb == "delete" and call.subresource):
            raise method_not_allowed()
        return carry_out(call)

    def _create(self, call: Call) -> Response:
        if call.subresource:
            return self._actions.answer(call)
        if self._reviews.is_review(call):
            return self._reviews.answer(call)
        if call.kind.custom and self._is_terminating(call):
            why = "create not allowed while custom resource definition is terminating"
            name = (call.document().get("metadata") or {}).get("name", "")
            raise forbidden(call.kind.resource, name, why)
        return self._verbs.create(call)

    def _is_terminating(self, call: Call) -> bool:
        definitions = self._backend.storage.collection(
            "apiextensions.k8s.io", "customresourcedefinitions"
        )
        record = definitions.get(call.kind.resource.qualified)
        conditions = record.obj["status"]["conditions"] if record is not None else ()
        return any(
            each["type"] == "Terminating" and each["status"] == "True" for each in conditions
        )
