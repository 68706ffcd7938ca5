"""The statuses of an EnvoyConfig and of its revisions, from what was decided."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from certwright.api.discoveryservices import DiscoveryCondition
from certwright.api.envoyconfigs import (
    EnvoyConfig,
    EnvoyConfigRevision,
    EnvoyConfigRevisionStatus,
    EnvoyConfigStatus,
    ObjectReferenceStatus,
    ProvidedVersions,
    RevisionReference,
)
from certwright.operators.discoveryservice.config import messages
from certwright.operators.discoveryservice.config.choice import RevisionChoice, in_order
from certwright.operators.discoveryservice.config.served import ServedConfig
from certwright.xds import typeurls

_FIELDS: Final = {
    "endpoints": typeurls.ENDPOINTS,
    "clusters": typeurls.CLUSTER,
    "routes": typeurls.ROUTES,
    "scoped_routes": typeurls.SCOPED_ROUTES,
    "listeners": typeurls.LISTENER,
    "secrets": typeurls.SECRET,
    "runtimes": typeurls.RUNTIME,
    "extension_configs": typeurls.EXTENSION,
}


def tainted_status(
    revision: EnvoyConfigRevision, reason: str, message: str, now: datetime
) -> EnvoyConfigRevisionStatus:
    """Return the status of a revision that is not to be served any more."""
    conditions = [messages.condition(messages.TAINTED, True, reason, message)]
    return replace(
        revision.status,
        tainted=True,
        conditions=messages.merged(revision.status.conditions, conditions, now),
    )


def published_status(
    revision: EnvoyConfigRevision,
    served: ServedConfig | None,
    now: datetime,
    *,
    published: bool,
) -> EnvoyConfigRevisionStatus:
    """Return the status of a revision that is published, or no longer; unchanged if it says so."""
    status = revision.status
    news = []
    if (status.published is True) != published or status.published is UNSET:
        reason = "ResourcesPublished" if published else "OtherRevisionPublished"
        news.append(messages.condition(messages.PUBLISHED, published, reason))
        status = replace(status, published=published)
        if published:
            status = replace(status, last_published_at=now)
    if published and served is not None and served.version == revision.spec.version:
        news.append(messages.source_condition(served.missing))
        status = replace(status, provides_versions=provided_versions(served.types))
    return replace(status, conditions=messages.merged(status.conditions, news, now))


def provided_versions(types: Mapping[str, str]) -> ProvidedVersions:
    """Return versions by type, as a status tells them."""
    return ProvidedVersions(**{name: types.get(url, "") for name, url in _FIELDS.items()})


def config_status(
    config: EnvoyConfig,
    choice: RevisionChoice,
    revisions: Sequence[EnvoyConfigRevision],
    conditions: Sequence[DiscoveryCondition],
    now: datetime,
) -> EnvoyConfigStatus:
    """Return the status of an EnvoyConfig, but for what is said about Envoys."""
    kept = config.status.published_version
    return replace(
        config.status,
        cache_state=choice.state,
        desired_version=choice.desired,
        published_version=choice.published.spec.version if choice.published else kept,
        revisions=[_reference(one) for one in in_order(revisions)],
        observed_generation=config.metadata.generation,
        conditions=messages.merged(config.status.conditions, conditions, now),
    )


def _reference(revision: EnvoyConfigRevision) -> RevisionReference:
    ref = ObjectReferenceStatus(
        name=revision.metadata.name,
        namespace=revision.metadata.namespace,
        kind=revision.resource.kind,
        api_version=revision.resource.api_version,
        uid=revision.metadata.uid,
    )
    return RevisionReference(version=revision.spec.version, ref=ref)
