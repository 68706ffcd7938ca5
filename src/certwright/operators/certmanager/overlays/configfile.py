"""The file that ``--config`` names, in a ConfigMap."""

import hashlib
from copy import deepcopy
from typing import Final

import orjson

from certwright.kube import JsonObject
from certwright.operators.certmanager.overlays.bundlecopy import BundleCopy, child
from certwright.operators.certmanager.request import Component

PATH: Final = "/var/cert-manager/config/config.yaml"
DIGEST: Final = "certmanager.certwright.dev/config-digest"
"""On pods: they read the file when they start, so another one needs other pods."""
_KINDS: Final = {
    Component.CONTROLLER: ("controller", "ControllerConfiguration"),
    Component.CAINJECTOR: ("cainjector", "CAInjectorConfiguration"),
    Component.WEBHOOK: ("webhook", "WebhookConfiguration"),
}


def config_files(copy: BundleCopy) -> None:
    """Give a component its file, as JSON, which is YAML too."""
    for one in copy.components():
        config = one.wanted.config
        if config is None:
            continue
        text = _text(one.component, config)
        own = one.deployment["metadata"]
        empty = copy.find("ConfigMap", one.name)  # some versions have one
        metadata = {
            "name": one.name,
            "namespace": own["namespace"],
            "labels": dict((empty or one.deployment)["metadata"].get("labels") or {}),
        }
        copy.add(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": metadata,
                "data": {"config.yaml": text},
            }
        )
        volume = {"name": "config", "configMap": {"name": one.name}}
        mount = {"name": "config", "mountPath": PATH.rpartition("/")[0]}
        one.pod["volumes"] = [volume, *_others(one.pod.get("volumes"))]
        one.container["volumeMounts"] = [mount, *_others(one.container.get("volumeMounts"))]
        annotations = child(child(one.template, "metadata"), "annotations")
        annotations[DIGEST] = hashlib.sha256(text.encode()).hexdigest()


def _others(items: list[JsonObject] | None) -> list[JsonObject]:
    return [item for item in items or () if item.get("name") != "config"]


def _text(component: Component, config: JsonObject) -> str:
    group, kind = _KINDS[component]
    api_version = f"{group}.config.cert-manager.io/v1alpha1"
    whole = {"apiVersion": api_version, "kind": kind, **deepcopy(config)}
    return orjson.dumps(whole, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS).decode() + "\n"
