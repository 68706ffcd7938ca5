"""``certwright gc``: unused immutable ConfigMaps and Secrets, listed or deleted."""

import sys
from datetime import timedelta

from certwright.cli.connection import connected, require_name
from certwright.cli.options import Output, Target
from certwright.cli.terminal.output import document, fitted, table, terminal_width
from certwright.clock import SYSTEM
from certwright.kube import JsonObject
from certwright.managed.unique import COLLECTABLE
from certwright.operators.garbagecollector import (
    CollectionResult,
    CollectorSettings,
    GarbageVerdict,
    Survey,
    collect,
)


async def collect_garbage(target: Target, settings: CollectorSettings, output: Output) -> int:
    """Make one pass over the cluster and print what was found; return 2 if something failed."""
    for namespace in settings.namespaces:
        require_name(namespace, "namespace")
    async with connected(target) as session:
        done = await collect(session.client, settings, SYSTEM)
    if output is not Output.TABLE:
        print(document(report_document(done, dry_run=settings.dry_run), output))
    elif done.survey.assessments:
        print(fitted(report_table(done.survey), terminal_width()))
    print(outcome(done, dry_run=settings.dry_run), file=sys.stderr)
    for failure in done.failures:
        print(f"error: {failure}", file=sys.stderr)
    return 2 if done.failures else 0


def report_table(report: Survey) -> str:
    """Return a line for each collectable object: the verdict, and why."""
    rows = (
        (one.candidate.key.kind, _name(one.candidate.key), one.verdict, one.reason)
        for one in report.assessments
    )
    return table(("KIND", "NAME", "VERDICT", "WHY"), rows)


def report_document(done: CollectionResult, *, dry_run: bool) -> JsonObject:
    """Return the same for programs."""
    deleted = {candidate.uid for candidate in done.deleted}
    return {
        "objects": [
            {
                **one.candidate.key._asdict(),
                "verdict": one.verdict.value,
                "reason": one.reason,
                "deleted": one.candidate.uid in deleted,
            }
            for one in done.survey.assessments
        ],
        "dryRun": dry_run,
        "summary": outcome(done, dry_run=dry_run),
        "problems": [str(failure) for failure in done.failures],
    }


def outcome(done: CollectionResult, *, dry_run: bool) -> str:
    """Return a summary in one line."""
    if not done.survey.assessments:
        return f"nothing to delete: no ConfigMap or Secret is labelled {COLLECTABLE}=true"
    found = len(done.survey.of(GarbageVerdict.COLLECTABLE))
    if dry_run:
        return f"{found} would be deleted; in total: {done.survey}"
    marked = len(done.survey.of(GarbageVerdict.UNUSED))
    later = f"; {marked} are marked as unused and will be deleted by a later pass" if marked else ""
    return f"{len(done.deleted)} deleted{later}"


def settings_of(
    namespaces: list[str], lifetime_seconds: float, *, dry_run: bool
) -> CollectorSettings:
    """Return the settings of the collector."""
    return CollectorSettings(
        enabled=True,
        namespaces=tuple(namespaces),
        minimum_lifetime=timedelta(seconds=lifetime_seconds),
        dry_run=dry_run,
    )


def _name(key: tuple[str, str, str]) -> str:
    return f"{key[1]}/{key[2]}"
