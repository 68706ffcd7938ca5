"""In which form an answer is wanted: objects, only their metadata, or tables."""

from dataclasses import dataclass
from enum import StrEnum

from certwright.apiserver.refusals import NothingAcceptable
from certwright.kube.errors import NotAcceptable


class Form(StrEnum):
    """The shapes objects can be answered in."""

    OBJECT = "object"
    METADATA = "metadata"
    TABLE = "table"


_FORMS = {
    "PartialObjectMetadata": Form.METADATA,
    "PartialObjectMetadataList": Form.METADATA,
    "Table": Form.TABLE,
}
_JSON = {"application/json", "*/*"}


@dataclass(frozen=True, slots=True)
class MediaRange:
    """One alternative of an Accept header."""

    type: str
    parameters: dict[str, str]


def media_ranges(accept: str) -> list[MediaRange]:
    """Split an Accept header into its alternatives, in the client's order."""
    ranges = []
    for part in accept.split(","):
        media, *rest = (piece.strip() for piece in part.split(";"))
        if media:
            pairs = (piece.partition("=") for piece in rest)
            ranges.append(MediaRange(media, {key: value for key, _, value in pairs}))
    return ranges


def accepted_form(accept: str, *, streams: bool = False) -> Form:
    """Return the first form of an Accept header that the server can produce.

    *streams* tells whether the answer may be a watch, for the refusal lists what there is. Raises
    `NotAcceptable` if the server can produce none.
    """
    if not accept or accept in _JSON:
        return Form.OBJECT
    candidates = [media for media in media_ranges(accept) if media.type in _JSON]
    if not candidates:
        raise NothingAcceptable(streams=streams)
    for media in candidates:
        wanted = media.parameters.get("as")
        if wanted is None:
            return Form.OBJECT
        form = _FORMS.get(wanted)
        group_version = (media.parameters.get("g"), media.parameters.get("v"))
        if form and group_version == ("meta.k8s.io", "v1"):
            return form
    raise NotAcceptable(
        "only the following media types are accepted: application/json, application/yaml, "
        "application/vnd.kubernetes.protobuf"
    )


def wanted_kind(accept: str) -> str:
    """Return the kind in which an Accept header first asks for other forms of objects."""
    return next((m.parameters["as"] for m in media_ranges(accept) if "as" in m.parameters), "")


def body_media_type(content_type: str) -> str:
    """Return the media type of a request body; JSON when the client does not say."""
    return content_type.partition(";")[0].strip() or "application/json"
