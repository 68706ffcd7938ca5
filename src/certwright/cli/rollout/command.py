"""The command lines of ``certwright rollout``; what they do is in `actions` and `process`."""

import os
from typing import Annotated

import typer

from certwright import __version__
from certwright.cli.options import (
    AllNamespaces,
    Context,
    DryRun,
    Kubeconfig,
    Namespace,
    Output,
    OutputFormat,
    Target,
    examples,
)

commands = typer.Typer(
    name="rollout",
    help="Restart workloads when what they consume has changed, and see why they do or do not.",
    short_help="Restart workloads with their Secrets and ConfigMaps.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Workload = Annotated[
    str, typer.Argument(metavar="KIND/NAME", help="Such as deployment/web, sts/db or cronjob/sync.")
]
Dialects = Annotated[
    str | None,
    typer.Option(metavar="NAMES", help="Whose annotations count. Default: all dialects."),
]
KeySecret = Annotated[
    str | None,
    typer.Option(
        metavar="NAMESPACE/NAME",
        help="Secret with the key of digests. Default: kube-system/certwright-rollout-key.",
    ),
]


@commands.command(
    short_help="Run what restarts workloads.",
    add_help_option=False,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)
def run(context: typer.Context) -> None:
    """Restart workloads when what they consume has changed; takes the flags of Reloader."""
    from certwright.cli.rollout.flags import parse
    from certwright.cli.rollout.process import run_rollout

    options = parse(context.args, os.environ)
    if options.version:
        print(__version__)
    else:
        run_rollout(options)


@commands.command(
    short_help="Explain whether and why a workload restarts.",
    epilog=examples(
        "certwright rollout why deployment/web -n shop    # why has it not restarted yet?",
        "certwright rollout why sts/db -o json",
    ),
)
def why(
    workload: Workload,
    namespace: Namespace = None,
    dialects: Dialects = None,
    key_secret: KeySecret = None,
    output: OutputFormat = Output.TABLE,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Explain a workload: what it consumes and where, what has changed, what it waits for.

    Contents are compared by digests; no value of a Secret is shown. Reading Secrets, and the key
    of the digests, takes the right to do so.
    """
    from certwright.cli.connection import run_once
    from certwright.cli.rollout import actions
    from certwright.cli.rollout.flags import asked

    target = Target(kubeconfig, context, namespace)
    run_once(actions.why(target, workload, output, asked(dialects, key_secret)))


@commands.command(
    short_help="Show what would restart when a Secret or ConfigMap changes.",
    epilog=examples(
        "certwright rollout plan secret/web-tls -n shop",
        "certwright rollout plan configmap/zones -A -o json",
    ),
)
def plan(
    source: Annotated[
        str, typer.Argument(metavar="KIND/NAME", help="secret/NAME or configmap/NAME.")
    ],
    namespace: Namespace = None,
    all_namespaces: AllNamespaces = False,
    dialects: Dialects = None,
    key_secret: KeySecret = None,
    output: OutputFormat = Output.TABLE,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Show which workloads would restart when a Secret or ConfigMap changes, and when.

    Workloads of other namespaces, which name it in an annotation, are looked at with -A.
    """
    from certwright.cli.connection import run_once
    from certwright.cli.rollout import actions
    from certwright.cli.rollout.flags import asked

    target = Target(kubeconfig, context, namespace)
    eyes = asked(dialects, key_secret)
    run_once(actions.plan(target, source, output, eyes, all_namespaces=all_namespaces))


@commands.command(
    short_help="List workloads that ask for restarts; those that wait come first.",
    epilog=examples("certwright rollout status -A", "certwright rollout status -n shop -o json"),
)
def status(
    namespace: Namespace = None,
    all_namespaces: AllNamespaces = False,
    dialects: Dialects = None,
    key_secret: KeySecret = None,
    output: OutputFormat = Output.TABLE,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """List workloads that ask for restarts, whether they have their contents, and what they do."""
    from certwright.cli.connection import run_once
    from certwright.cli.rollout import actions
    from certwright.cli.rollout.flags import asked

    target = Target(kubeconfig, context, namespace)
    eyes = asked(dialects, key_secret)
    run_once(actions.status(target, output, eyes, all_namespaces=all_namespaces))


@commands.command(
    short_help="Hold the restarts of a workload back.",
    epilog=examples(
        "certwright rollout pause deployment/web -n shop --reason 'migration until Friday'",
        "certwright rollout resume deployment/web -n shop",
    ),
)
def pause(
    workload: Workload,
    namespace: Namespace = None,
    reason: Annotated[
        str, typer.Option(metavar="TEXT", help="Why; shown by why and status, and in Events.")
    ] = "",
    dry_run: DryRun = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Hold the restarts of a workload back; what changes meanwhile restarts it afterwards, once."""
    from certwright.cli.connection import run_once
    from certwright.cli.rollout import actions

    target = Target(kubeconfig, context, namespace)
    run_once(actions.pause(target, workload, reason, dry_run=dry_run))


@commands.command(
    short_help="Let a workload restart again.",
    epilog=examples("certwright rollout resume deployment/web -n shop"),
)
def resume(
    workload: Workload,
    namespace: Namespace = None,
    dry_run: DryRun = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Let a workload restart again that was paused."""
    from certwright.cli.connection import run_once
    from certwright.cli.rollout import actions

    run_once(actions.resume(Target(kubeconfig, context, namespace), workload, dry_run=dry_run))
