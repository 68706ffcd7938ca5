"""``certwright gc``: unused immutable ConfigMaps and Secrets, listed or deleted."""

import sys
from datetime import timedelta
from pathlib import Path

from certwright.cli.connection import connected, require_name
from certwright.cli.options import Output
from certwright.cli.terminal.output import document, fitted, table, terminal_width
from certwright.clock import SYSTEM
from certwright.kube import JsonObject
from certwright.managed import COLLECTABLE
from certwright.operators.garbagecollector import Pass, Report, Settings, Verdict, collect


async def collect_garbage(
    where: tuple[Path | None, str | None], settings: Settings, output: Output
) -> int:
    """Make one pass over the cluster and print what was found; return 2 if something failed."""
    for namespace in settings.namespaces:
        require_name(namespace, "namespace")
    async with connected(*where) as to:
        done = await collect(to.client, settings, SYSTEM)
    if output is not Output.TABLE:
        print(document(report_document(done, dry_run=settings.dry_run), output))
    elif done.report.judgements:
        print(fitted(report_table(done.report), terminal_width()))
    print(outcome(done, dry_run=settings.dry_run), file=sys.stderr)
    for failure in done.failures:
        print(f"error: {failure}", file=sys.stderr)
    return 2 if done.failures else 0


def report_table(report: Report) -> str:
    """Return a line for each collectable object: what becomes of it, and why."""
    rows = (
        (one.candidate.place.kind, _name(one.candidate.place), one.verdict, one.reason)
        for one in report.judgements
    )
    return table(("KIND", "NAME", "VERDICT", "WHY"), rows)


def report_document(done: Pass, *, dry_run: bool) -> JsonObject:
    """Return the same for programs."""
    deleted = {candidate.uid for candidate in done.deleted}
    return {
        "objects": [
            {
                **one.candidate.place._asdict(),
                "verdict": one.verdict.value,
                "reason": one.reason,
                "deleted": one.candidate.uid in deleted,
            }
            for one in done.report.judgements
        ],
        "dryRun": dry_run,
        "summary": outcome(done, dry_run=dry_run),
        "problems": [str(failure) for failure in done.failures],
    }


def outcome(done: Pass, *, dry_run: bool) -> str:
    """Say in one line what happened."""
    if not done.report.judgements:
        return f"nothing to collect: no ConfigMap or Secret is labelled {COLLECTABLE}=true"
    found = len(done.report.of(Verdict.COLLECTABLE))
    if dry_run:
        return f"{found} would be deleted; of all: {done.report}"
    marked = len(done.report.of(Verdict.UNUSED))
    later = f"; {marked} unused ones are noted and go in a later pass" if marked else ""
    return f"{len(done.deleted)} deleted{later}"


def settings_of(namespaces: list[str], lifetime_seconds: float, *, dry_run: bool) -> Settings:
    """Return what the collector is told."""
    return Settings(
        enabled=True,
        namespaces=tuple(namespaces),
        minimum_lifetime=timedelta(seconds=lifetime_seconds),
        dry_run=dry_run,
    )


def _name(place: tuple[str, str, str]) -> str:
    return f"{place[1]}/{place[2]}"
