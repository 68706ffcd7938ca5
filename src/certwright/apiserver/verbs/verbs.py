"""The verbs of the API on stored objects: get, list, create, update, delete."""

from certwright.apiserver.backend import Backend
from certwright.apiserver.http.options import WriteParameters, delete_options, write_options
from certwright.apiserver.http.request import Call
from certwright.apiserver.http.responses import deleted_response, list_response, object_response
from certwright.apiserver.kinds.traits import traits_of
from certwright.apiserver.refusals import Failed, conflict, not_found, too_large_resource_version
from certwright.apiserver.storage.storage import ListPage
from certwright.apiserver.verbs.lists import list_page, parse_version
from certwright.apiserver.writes.decode import check_type, decode
from certwright.apiserver.writes.deletion import ObjectDeleter
from certwright.apiserver.writes.metadata import check_name, dedup_owners, settle_namespace
from certwright.apiserver.writes.signingrequests import is_signing_request, stamp_requestor
from certwright.apiserver.writes.writes import ObjectWriter, uid_mismatch
from certwright.client.transport import Response
from certwright.kube.errors import BadRequest
from certwright.kube.objects import JsonObject

_PODS_STAY = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background "
    "to remove them or set propagationPolicy=Orphan to suppress this warning"
)


class Verbs:
    """Carries out requests to objects and collections; patches are in `Patches`."""

    def __init__(self, backend: Backend, writes: ObjectWriter, deletion: ObjectDeleter) -> None:
        self._backend = backend
        self._writes = writes
        self._deletion = deletion

    def get(self, call: Call) -> Response:
        """Answer with one object."""
        try:
            asked = parse_version(call.query.get("resourceVersion", ""))
        except BadRequest as error:
            raise Failed(error.message.removeprefix("invalid resource version: ")) from None
        current = self._backend.storage.revision
        if asked > current:
            raise too_large_resource_version(asked, current)
        return object_response(call, self._backend.get(call.kind, call.namespace, call.name))

    def list(self, call: Call) -> Response:
        """Answer with a page of a collection."""
        return list_response(call, list_page(self._backend, call))

    def create(self, call: Call) -> Response:
        """Store a new object."""
        options = write_options(call, "CreateOptions")
        obj = self._body(call, options)
        dedup_owners(obj["metadata"], call.warnings)
        if is_signing_request(call.kind):
            stamp_requestor(obj, call.user)
        record = self._writes.create(call.kind, call.namespace, obj, options)
        return object_response(call, record, 201)

    def update(self, call: Call) -> Response:
        """Store an object over the one of its name."""
        options = write_options(call, "UpdateOptions")
        obj = self._body(call, options)
        settle_namespace(obj["metadata"], call.namespace)
        check_name(obj["metadata"], call.name)
        dedup_owners(obj["metadata"], call.warnings)
        record = self._backend.read(call.kind, call.namespace, call.name)
        if record is None:
            if call.subresource or not traits_of(call.kind).create_on_update:
                raise not_found(call.kind.resource, call.name)
            created = self._writes.create_instead(call.kind, call.namespace, obj, options)
            return object_response(call, created, 201)
        uid = obj["metadata"].get("uid")
        if uid and uid != record.uid:
            why = uid_mismatch(call.kind, record.key, uid, record.uid, dry_run=options.dry_run)
            raise conflict(call.kind.resource, call.name, why)
        stored = self._writes.update(call.kind, record, obj, options, call.subresource)
        return object_response(call, stored)

    def delete(self, call: Call) -> Response:
        """Delete one object, or begin to."""
        options = delete_options(call)
        record = self._backend.get(call.kind, call.namespace, call.name)
        if call.kind.resource.qualified == "jobs.batch" and options.policy is None:
            call.warnings.append(_PODS_STAY)
        deleted = self._deletion.delete(record, options)
        if deleted.is_gone and not traits_of(call.kind).returns_deleted:
            return deleted_response(call, deleted.record)
        accepted = not deleted.is_gone and options.orphan_dependents is False
        return object_response(call, deleted.record, 202 if accepted else 200)

    def deletecollection(self, call: Call) -> Response:
        """Delete every selected object; answers with what they were."""
        options = delete_options(call)
        if options.admission is None:
            page = list_page(self._backend, call)
        else:  # what was deleted before a webhook had to be called belongs to the answer
            page = self._backend.reviews.once("page", lambda: list_page(self._backend, call))
        for record in page.records:
            current = self._backend.find(record.kind, record.namespace, record.name)
            if current is not None and current.uid == record.uid:
                self._deletion.delete(current, options)
        return list_response(call, ListPage(page.records, page.revision))

    def _body(self, call: Call, options: WriteParameters) -> JsonObject:
        obj = call.document(call.kind.resource.kind)
        check_type(obj, call.kind, call.request.body)
        call.warnings += decode(obj, call.kind, call.request.body, options)
        return obj
