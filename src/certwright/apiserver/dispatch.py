"""From an understood request to the code that carries it out."""

from certwright.apiserver.access.rbac import Authorizer
from certwright.apiserver.access.tokens import Tokens
from certwright.apiserver.backend import Backend
from certwright.apiserver.http.bodies import parse_object
from certwright.apiserver.http.request import Call
from certwright.apiserver.refusals import forbidden, method_not_allowed
from certwright.apiserver.verbs.actions import Actions
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
        self._patches = Patches(backend, writes, authorizer)
        self._scales = Scales(backend, writes)
        self._actions = Actions(backend, deletion, tokens)
        self._reviews = Reviews(authorizer, tokens)

    def __call__(self, call: Call) -> Response:
        """Carry out a call.

        Raises:
            NotAcceptable: the client takes no answer the server could give.
        """
        call.check_acceptable()
        if call.subresource == "scale":
            return self._scales.answer(call)
        match call.verb:
            case "get":
                return self._verbs.get(call)
            case "list":
                return self._verbs.list(call)
            case "create":
                return self._create(call)
            case "update":
                return self._verbs.update(call)
            case "patch":
                return self._patches.patch(call)
            case "delete" if not call.subresource:
                return self._verbs.delete(call)
            case "deletecollection":
                return self._verbs.deletecollection(call)
        raise method_not_allowed()

    def _create(self, call: Call) -> Response:
        if call.subresource:
            return self._actions.answer(call)
        if self._reviews.is_review(call):
            return self._reviews.answer(call)
        if call.kind.custom and self._is_terminating(call):
            body = parse_object(call.request.body, call.headers.get("content-type", ""))
            why = "create not allowed while custom resource definition is terminating"
            name = (body.get("metadata") or {}).get("name", "")
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
