"""Keeps the revisions of an EnvoyConfig, and decides which of them is served.

One pass reads the EnvoyConfig, its revisions and what Envoys say; decides which revisions are
tainted, which one is published and which are superfluous; writes what differs; and reports. Only
the leading replica runs it. What Envoys are served is the publisher's work, in every replica.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec
from msgspec.structs import replace

from certwright.api.discoveryservices import DiscoveryCondition
from certwright.api.envoyconfigs import (
    EnvoyConfig,
    EnvoyConfigRevision,
    EnvoyConfigStatus,
)
from certwright.kube import Key
from certwright.operators.discoveryservice.config import messages, statuses
from certwright.operators.discoveryservice.config.assembly import check
from certwright.operators.discoveryservice.config.choice import (
    RevisionChoice,
    choose,
    superfluous,
)
from certwright.operators.discoveryservice.config.content import read_content
from certwright.operators.discoveryservice.config.envoys.counts import (
    Damper,
    last_rejections,
    shown_counts,
    version_counts,
)
from certwright.operators.discoveryservice.config.envoys.taint import seconds_to_taint
from certwright.operators.discoveryservice.config.publisher import Publisher
from certwright.operators.discoveryservice.config.served import ServedConfig
from certwright.operators.discoveryservice.config.versions import (
    API,
    content_of,
    revision_labels,
    revision_name,
    version_of,
)
from certwright.runtime import DONE, WAIT, Context, Outcome, again
from certwright.xds.observations import Connections
from certwright.xds.schema.errors import FieldProblem, ResourceRefused
from certwright.xds.schema.schema import MessageSchema
from certwright.xds.snapshot import NodeKey

_REMEMBERED: Final = 1000
"""Versions of which is known whether they fit the schema."""


@dataclass(frozen=True, slots=True)
class _Observed:
    """What one pass looks at."""

    served: ServedConfig | None
    envoys: Counter[str]
    """How many run which version, those at other replicas too."""


class EnvoyConfigController:
    """Reconciles one EnvoyConfig at a time.

    *wake* is called with the EnvoyConfigs that another one made way for. *elsewhere* returns how
    many Envoys of a node run which version at other replicas.
    """

    def __init__(
        self,
        schema: MessageSchema,
        publisher: Publisher,
        connections: Connections,
        wake: Callable[[Key], None],
        elsewhere: Callable[[NodeKey], Counter[str]] | None = None,
    ) -> None:
        self._schema = schema
        self._publisher = publisher
        self._connections = connections
        self._wake = wake
        self._elsewhere = elsewhere or (lambda _: Counter())
        self._damper: Damper[Key] = Damper()
        self._verdicts: dict[tuple[str, str], tuple[FieldProblem, ...]] = {}
        self._nodes: dict[Key, NodeKey] = {}
        self._configs: dict[NodeKey, dict[Key, None]] = {}
        """The same, the other way round."""

    def configs_of(self, node: NodeKey) -> list[Key]:
        """Return the EnvoyConfigs that have the node-id, as far as they were looked at."""
        return list(self._configs.get(node, ()))

    async def reconcile(self, ctx: Context, key: Key) -> Outcome:
        """Keep one EnvoyConfig."""
        config = ctx.get(EnvoyConfig, key)
        node = NodeKey(key.namespace, config.spec.node_id) if config else None
        self._note_node(key, node)
        if config is None or node is None or config.metadata.deletion_timestamp is not None:
            self._damper.forget(key)
            return DONE  # its revisions are owned: they go with it
        if (other := older_rival(ctx.list(EnvoyConfig, key.namespace), config)) is not None:
            return await self._yield_to(ctx, config, other)
        desired = version_of(config.spec)
        revisions = [
            one
            for one in ctx.owned(EnvoyConfigRevision, config)
            if one.metadata.deletion_timestamp is None
        ]
        for stranger in [one for one in revisions if one.spec.node_id != node.node_id]:
            revisions.remove(stranger)
            await ctx.delete(stranger)  # the node-id was another
        if not any(one.spec.version == desired for one in revisions):
            revisions.append(await self._create(ctx, config, desired))

        history = self._publisher.history(node).pairs
        counts = version_counts(self._connections.groups(node), history)
        observed = _Observed(self._publisher.served(node), counts + self._elsewhere(node))
        revisions = [await self._judge(ctx, one, desired, observed) for one in revisions]
        choice = choose(revisions, desired)
        if choice.published is not None:
            served = observed.served
            if choice.published.status.published is not True:
                # So that one write says all of it, and not a second one once it is served.
                served = await self._publisher.preview(node, choice.published)
            revisions = await self._publish(ctx, revisions, choice.published, served)
        for one in superfluous(revisions, choice):
            revisions.remove(one)
            await ctx.delete(one)
        return await self._report(ctx, config, choice, revisions, observed)

    def _note_node(self, key: Key, node: NodeKey | None) -> None:
        """Take note whose node-id is whose; those that waited for it are looked at again."""
        before = self._nodes.pop(key, None)
        if before is not None:
            of_before = self._configs[before]
            del of_before[key]
            if not of_before:
                del self._configs[before]
        if node is not None:
            self._nodes[key] = node
            self._configs.setdefault(node, {})[key] = None
        if before is not None and before != node:
            for other in self.configs_of(before):
                self._wake(other)

    async def _yield_to(self, ctx: Context, config: EnvoyConfig, other: EnvoyConfig) -> Outcome:
        """Report that an older EnvoyConfig has the node-id, and give up what is published."""
        now = ctx.clock.now()
        for one in ctx.owned(EnvoyConfigRevision, config):
            await ctx.delete(one)
        conditions = messages.conflict(other.metadata.name)
        status = EnvoyConfigStatus(
            cache_state="RollbackFailed",
            desired_version=version_of(config.spec),
            observed_generation=config.metadata.generation,
            conditions=messages.merged(config.status.conditions, conditions, now),
        )
        await ctx.status(config, status)
        return WAIT.as_failure()

    async def _create(self, ctx: Context, config: EnvoyConfig, version: str) -> EnvoyConfigRevision:
        """Create the revision of what the spec says now."""
        node_id = config.spec.node_id
        made = await ctx.create(
            {
                "apiVersion": EnvoyConfigRevision.resource.api_version,
                "kind": EnvoyConfigRevision.resource.kind,
                "metadata": {
                    "namespace": config.metadata.namespace,
                    "name": revision_name(node_id, version),
                    "labels": dict(revision_labels(node_id, version)),
                },
                "spec": {**content_of(config.spec), "envoyAPI": API, "version": version},
            },
            owner=config,
        )
        return msgspec.convert(made, EnvoyConfigRevision)

    async def _judge(
        self, ctx: Context, revision: EnvoyConfigRevision, desired: str, observed: _Observed
    ) -> EnvoyConfigRevision:
        """Return a revision, tainted if it cannot be served or all Envoys rejected it."""
        if revision.status.tainted is True:
            return revision
        reason, message, served = "", "", observed.served
        if revision.spec.version == desired and (found := await self._problems(ctx, revision)):
            reason, message = messages.FAILED_LOADING, messages.refusal(found)
        elif served is not None and revision.spec.version == served.refused_version:
            reason, message = messages.FAILED_LOADING, messages.refusal(served.refused)
        elif seconds_to_taint(revision.status.reports, ctx.clock.now()) == 0:
            words = messages.rejection(revision.status.reports.values())
            reason, message = messages.RESOURCES_FAILING, words
        if not reason:
            return revision
        status = statuses.tainted_status(revision, reason, message, ctx.clock.now())
        await ctx.status(revision, status)
        ctx.event(revision, "Warning", reason, message)
        return replace(revision, status=status)

    async def _problems(
        self, ctx: Context, revision: EnvoyConfigRevision
    ) -> tuple[FieldProblem, ...]:
        """Return why a revision cannot be served, found out once per version."""
        known = (revision.metadata.namespace, revision.spec.version)
        if known not in self._verdicts:
            while len(self._verdicts) >= _REMEMBERED:
                del self._verdicts[next(iter(self._verdicts))]
            self._verdicts[known] = await ctx.cpu(_verdict, self._schema, revision)
        return self._verdicts[known]

    async def _publish(
        self,
        ctx: Context,
        revisions: Sequence[EnvoyConfigRevision],
        chosen: EnvoyConfigRevision,
        served: ServedConfig | None,
    ) -> list[EnvoyConfigRevision]:
        """Say of each revision whether it is published, of the chosen one first."""
        now = ctx.clock.now()
        changed = {}
        for one in sorted(revisions, key=lambda one: one is not chosen):
            status = statuses.published_status(one, served, now, published=one is chosen)
            await ctx.status(one, status)
            changed[one.metadata.name] = replace(one, status=status)
        return [changed[one.metadata.name] for one in revisions]

    async def _report(
        self,
        ctx: Context,
        config: EnvoyConfig,
        choice: RevisionChoice,
        revisions: Sequence[EnvoyConfigRevision],
        observed: _Observed,
    ) -> Outcome:
        """Write the status; what it says about Envoys waits until that rests."""
        now, key = ctx.clock.now(), Key(config.metadata.namespace, config.metadata.name)
        conditions = [*messages.sync_conditions(choice, _why(revisions, choice))]
        conditions += _source_conditions(choice, observed.served)
        status = statuses.config_status(config, choice, revisions, conditions, now)
        counts = shown_counts(observed.envoys)
        wait = self._damper.wait(key, counts, config.status.envoys, now.timestamp())
        envoys = config.status.envoys if wait else counts
        status = replace(status, envoys=envoys, rejections=last_rejections(revisions))
        await ctx.status(config, status)
        waits = [seconds_to_taint(one.status.reports, now) for one in revisions if is_open(one)]
        soonest = min([one for one in (wait, *waits) if one], default=0.0)
        outcome = again(after=soonest) if soonest else DONE
        return outcome if choice.state == "InSync" else outcome.as_failure()


def older_rival(configs: Sequence[EnvoyConfig], config: EnvoyConfig) -> EnvoyConfig | None:
    """Return the EnvoyConfig of the same node-id that is served instead; None if this one is."""

    def age(one: EnvoyConfig) -> tuple[str, str]:
        return (str(one.metadata.creation_timestamp or ""), one.metadata.name)

    rivals = [
        one
        for one in configs
        if one.spec.node_id == config.spec.node_id and one.metadata.deletion_timestamp is None
    ]
    first = min(rivals, key=age, default=config)
    return None if first.metadata.name == config.metadata.name else first


def is_open(revision: EnvoyConfigRevision) -> bool:
    """Return whether a revision is served, and may still be given up."""
    return revision.status.published is True and revision.status.tainted is not True


def _verdict(schema: MessageSchema, revision: EnvoyConfigRevision) -> tuple[FieldProblem, ...]:
    try:
        check(schema, read_content(revision.spec, revision.metadata.namespace))
    except ResourceRefused as refused:
        return refused.problems
    return ()


def _why(revisions: Sequence[EnvoyConfigRevision], choice: RevisionChoice) -> str:
    """Return why the desired revision is tainted."""
    for one in revisions:
        if one.spec.version == choice.desired:
            found = [c.message for c in one.status.conditions if c.type == messages.TAINTED]
            return found[0] if found else ""
    return ""


def _source_conditions(
    choice: RevisionChoice, served: ServedConfig | None
) -> list[DiscoveryCondition]:
    if served is None or choice.published is None:
        return []
    if served.version != choice.published.spec.version:
        return []
    return [messages.source_condition(served.missing)]
