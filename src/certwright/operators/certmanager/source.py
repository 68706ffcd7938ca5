"""Where the objects of versions come from: bundles, rendered as requested."""

from collections.abc import Callable, Sequence
from typing import Final

from certwright.bundles.catalogue import Catalogue
from certwright.bundles.errors import BundleError, BundleMissing
from certwright.bundles.sources import BundleSet, PackedBundle
from certwright.operators.certmanager.engine.port import SourceError
from certwright.operators.certmanager.engine.steps import Wanted, wanted_of
from certwright.operators.certmanager.render import render
from certwright.operators.certmanager.request import InstallRequest, Naming
from certwright.operators.certmanager.v010.layout import layout

UNSUPPORTED: Final = "UnsupportedVersion"


class BundleSource:
    """Renders bundles; what was rendered last is remembered, for it is asked for in each pass."""

    def __init__(
        self, bundles: Callable[[], BundleSet], catalogue: Catalogue, default: str = ""
    ) -> None:
        self._bundles = bundles
        self._catalogue = catalogue
        self._default = default
        self._wanted: list[tuple[InstallRequest, PackedBundle, Wanted]] = []

    @property
    def default(self) -> str:
        """The version that is installed if none is asked for: the newest there is, if not set."""
        if self._default:
            return self._default
        versions = self._bundles().versions
        default = self._catalogue.default
        return default if default in versions or not versions else versions[-1]

    @property
    def versions(self) -> Sequence[str]:
        """The versions that can be installed."""
        return self._bundles().versions

    def window(self, version: str) -> tuple[str, str] | None:
        """Return the oldest and newest Kubernetes a version supports; None if not known."""
        window = self._catalogue.window(version)
        return (window.oldest, window.newest) if window is not None else None

    def wanted(self, request: InstallRequest) -> Wanted:
        """Return the objects of a request; `SourceError` if they cannot be had."""
        if request.naming is Naming.V0_10:
            return wanted_of(layout(request))
        bundles = self._bundles()
        packed = bundles.packed.get(request.version)
        for asked, rendered, known_wanted in self._wanted:
            if asked == request and rendered is packed:
                return known_wanted
        try:
            bundle = bundles.get(request.version)
        except BundleMissing as error:
            known = request.version in self._catalogue.versions
            raise SourceError(error.reason if known else UNSUPPORTED, str(error)) from error
        except BundleError as error:
            raise SourceError(error.reason, str(error)) from error
        wanted = wanted_of(render(request, bundle, self._catalogue))
        self._wanted = [*self._wanted[-1:], (request, bundles.packed[request.version], wanted)]
        return wanted
