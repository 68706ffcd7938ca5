"""What may be wrong with a bundle, and the command that helps.

::

    BundleError                   has a `reason` for conditions
    ├── BundleMissing             no bundle of this version is there
    ├── BundleCorrupt             truncated, edited, or no bundle at all
    │   └── BundleTooLarge        beyond what is read
    └── BuildError                a bundle cannot be made: a tool, a module or a chart is at fault
        ├── ToolMissing           Go or Helm is not installed
        └── ModuleUnavailable     Go cannot fetch the module
"""

from typing import ClassVar, Final

MISSING: Final = "BundleMissing"
CORRUPT: Final = "CatalogCorrupt"


class BundleError(ValueError):
    """A bundle cannot be used; the message names it, what is wrong, and what to do."""

    reason: ClassVar[str] = CORRUPT
    """What a condition has as its reason."""


class BundleMissing(BundleError):
    """No bundle of a version is there."""

    reason: ClassVar[str] = MISSING

    def __init__(
        self, version: str, available: tuple[str, ...] = (), *, known: bool = True
    ) -> None:
        """Tell which versions there are; one that is not *known* cannot be built, only imported."""
        others = ", ".join(available) or "none"
        if known:
            advice = (
                f"run: certwright bundle build {version}, then: certwright bundle publish {version}"
            )
        else:
            advice = (
                "the catalogue does not have it either; choose one of: certwright bundle list,"
                " or import its release: certwright bundle import FILE"
            )
        super().__init__(f"no bundle of cert-manager {version} (there are: {others}); {advice}")
        self.version = version
        self.available = available


class BundleCorrupt(BundleError):
    """A bundle is not what was written once."""

    def __init__(self, source: str, problem: str, version: str = "") -> None:
        super().__init__(
            f"{source}: {problem}; make it again: certwright bundle build {version or 'VERSION'}"
        )
        self.source = source
        self.problem = problem
        self.version = version


class BundleTooLarge(BundleCorrupt):
    """A bundle exceeds a limit of what is read."""


class BuildError(BundleError):
    """A bundle cannot be made."""


class ToolMissing(BuildError):
    """A program that makes bundles is not installed."""


class ModuleUnavailable(BuildError):
    """The module of a version cannot be fetched."""
