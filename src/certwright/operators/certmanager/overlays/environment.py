"""Variables, proxies and trusted authorities."""

from copy import deepcopy
from typing import Final

from certwright.operators.certmanager.overlays.bundlecopy import BundleCopy
from certwright.operators.certmanager.request import Component, InstallRequest

_TRUSTED: Final = "trusted-ca"
_KEY: Final = "ca-bundle.crt"
_FOLDER: Final = "/etc/pki/tls/certs"
"""One of the folders that Go reads besides the file with the system's own authorities."""
_FILE: Final = "cert-manager-tls-ca-bundle.crt"


def environment(copy: BundleCopy, request: InstallRequest) -> None:
    """Set variables: those of the bundle, proxies over them, the component's own over these."""
    proxies = [{"name": name, "value": value} for name, value in request.proxy.items() if value]
    for one in copy.components():
        wanted = [*proxies, *one.wanted.env]
        if wanted:
            present = {item["name"]: item for item in one.container.get("env") or ()}
            added = {item["name"]: deepcopy(item) for item in wanted}
            one.container["env"] = [*{**present, **added}.values()]


def trusted_authorities(copy: BundleCopy, request: InstallRequest) -> None:
    """Let the controller, which alone talks to servers outside the cluster, trust a bundle."""
    name = request.trusted_ca_config_map
    controller = copy.component(Component.CONTROLLER)
    if not name or controller is None:
        return
    items = [{"key": _KEY, "path": _FILE}]
    volume = {"name": _TRUSTED, "configMap": {"name": name, "items": items}}
    mount = {"name": _TRUSTED, "mountPath": _FOLDER, "readOnly": True}
    pod, container = controller.pod, controller.container
    pod["volumes"] = [*(pod.get("volumes") or ()), volume]
    container["volumeMounts"] = [*(container.get("volumeMounts") or ()), mount]
