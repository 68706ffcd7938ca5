"""The smallest valid objects of common kinds, to be filled in by tests.

Every builder takes a name, fields that matter for tests by keyword, and returns a plain
dict of the caller's own. The namespace is left out: `Cluster.create` fills in its own.
"""

from collections.abc import Mapping
from typing import Any

from certwright.kube.objects import JsonObject


def config_map(name: str, data: Mapping[str, str] | None = None, **metadata: Any) -> JsonObject:
    """Return a ConfigMap."""
    return _object("v1", "ConfigMap", name, metadata, data=dict(data or {}))


def secret(name: str, data: Mapping[str, str] | None = None, **metadata: Any) -> JsonObject:
    """Return an opaque Secret; *data* is given as text."""
    return _object("v1", "Secret", name, metadata, stringData=dict(data or {}))


def namespace(name: str, **metadata: Any) -> JsonObject:
    """Return a Namespace."""
    return _object("v1", "Namespace", name, metadata)


def deployment(name: str, *, replicas: int = 1, image: str = "app", **metadata: Any) -> JsonObject:
    """Return a Deployment of one container; its labels are ``app=name``."""
    spec = {"replicas": replicas, **_workload(name, image)}
    return _object("apps/v1", "Deployment", name, metadata, spec=spec)


def stateful_set(
    name: str, *, replicas: int = 1, image: str = "app", **metadata: Any
) -> JsonObject:
    """Return a StatefulSet of one container."""
    spec = {"replicas": replicas, "serviceName": name, **_workload(name, image)}
    return _object("apps/v1", "StatefulSet", name, metadata, spec=spec)


def daemon_set(name: str, *, image: str = "app", **metadata: Any) -> JsonObject:
    """Return a DaemonSet of one container."""
    return _object("apps/v1", "DaemonSet", name, metadata, spec=_workload(name, image))


def job(name: str, *, completions: int = 1, image: str = "app", **metadata: Any) -> JsonObject:
    """Return a Job of one container."""
    pod = {"containers": [{"name": "main", "image": image}], "restartPolicy": "Never"}
    spec = {"completions": completions, "parallelism": completions, "template": {"spec": pod}}
    return _object("batch/v1", "Job", name, metadata, spec=spec)


def _workload(name: str, image: str) -> JsonObject:
    labels = {"app": name}
    return {
        "selector": {"matchLabels": labels},
        "template": {
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "main", "image": image}]},
        },
    }


def _object(
    api_version: str, kind: str, name: str, metadata: Mapping[str, Any], **fields: Any
) -> JsonObject:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, **metadata},
        **fields,
    }
