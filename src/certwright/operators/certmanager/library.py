"""The bundles an operator can install: those of a folder, and those published in the cluster.

A folder is read once, for it is a part of an image. ConfigMaps are watched, and who installs is
woken when one comes or goes: what was missing may be there now.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from certwright.api.certmanagerdeployments import NAME
from certwright.bundles.catalogue import Catalogue
from certwright.bundles.configmap import LABEL, from_config_map
from certwright.bundles.errors import BundleError
from certwright.bundles.sources import BundleSet, PackedBundle, bundle_set, read_folder
from certwright.client import Client
from certwright.kube import JsonObject, Key, key_of
from certwright.kube.kinds import ConfigMap
from certwright.runtime import DONE, Channel, Context, Controller, Outcome, select

CONTROLLER: Final = "bundle-library"
WOKEN: Final = (Key("", NAME), Key("", "default"))
"""The custom resources that count: a CertManagerDeployment, and a CertManager."""


class BundleLibrary:
    """Bundles of a folder, and of the ConfigMaps of one namespace, which count more."""

    def __init__(
        self, catalogue: Catalogue, folder: Path | None = None, namespace: str = ""
    ) -> None:
        self.channel = Channel()
        """Wakes who installs, by the keys of custom resources."""
        self._catalogue = catalogue
        self._namespace = namespace
        self._inside: Iterable[PackedBundle | BundleError] = (
            read_folder(folder) if folder is not None else ()
        )
        self._published: dict[Key, PackedBundle | BundleError] = {}
        self._set = self._chosen()

    def bundles(self) -> BundleSet:
        """Return what there is now."""
        return self._set

    async def read(self, client: Client) -> None:
        """Read what is published, before anything is decided by what there is."""
        found = await client.list(ConfigMap, self._namespace, labels=LABEL)
        for item in found.items:
            self._published[key_of(item)] = _read(item)
        self._set = self._chosen()

    def controller(self) -> Controller:
        """Return what follows ConfigMaps that are published and deleted later."""
        watched = select(ConfigMap, namespace=self._namespace, labels=LABEL)
        return Controller(watched, self._reconcile, name=CONTROLLER, workers=1)

    async def _reconcile(self, ctx: Context, key: Key) -> Outcome:
        obj = ctx.get(ConfigMap, key)
        before = self._published.pop(key, None)
        if obj is not None:
            self._published[key] = _read(obj)
        if _same(before, self._published.get(key)):
            return DONE
        self._set = self._chosen()
        for woken in WOKEN:
            self.channel.send(woken)
        return DONE

    def _chosen(self) -> BundleSet:
        ordered = [self._published[key] for key in sorted(self._published)]
        return bundle_set([*self._inside, *ordered], self._catalogue)


def _read(obj: JsonObject) -> PackedBundle | BundleError:
    try:
        return from_config_map(obj)
    except BundleError as error:
        return error


def _same(
    before: PackedBundle | BundleError | None, after: PackedBundle | BundleError | None
) -> bool:
    if isinstance(before, PackedBundle) or isinstance(after, PackedBundle):
        return before == after
    return str(before) == str(after)
