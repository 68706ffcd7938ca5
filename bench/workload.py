"""What the subjects have to deal with: Deployments as a busy cluster serves them, and Widgets."""

from pathlib import Path

import orjson
from msgspec import Struct, field

from certwright.kube import Object, custom_resource

FIRST_VERSION = 100_000
"""The resourceVersion of the first Deployment; lists are as of the one after the last."""
NAMESPACES = 20

_TEMPLATE = orjson.dumps(orjson.loads((Path(__file__).parent / "deployment.json").read_bytes()))
_TYPE = b'{"kind":"Deployment","apiVersion":"apps/v1",'
assert _TEMPLATE.startswith(_TYPE)


def deployment(number: int, version: int) -> bytes:
    """Return a Deployment of 3.4 kB with two managedFields entries, as a watch sends it."""
    return (
        _TEMPLATE.replace(b"@NAME@", b"web-%05d" % number)
        .replace(b"@NAMESPACE@", b"team-%d" % (number % NAMESPACES))
        .replace(b"@NUMBER@", b"%012d" % number)
        .replace(b"@VERSION@", b"%d" % version)
    )


def list_item(obj: bytes) -> bytes:
    """Return an object as it stands in a list: without its type, as for all built-in kinds."""
    return b"{" + obj.removeprefix(_TYPE)


def event(kind: bytes, obj: bytes) -> bytes:
    """Return one line of a watch."""
    return b'{"type":"%s","object":%s}\n' % (kind, obj)


def end_of_list(version: int) -> bytes:
    """Return the bookmark that ends a streaming list."""
    metadata = {
        "resourceVersion": str(version),
        "annotations": {"k8s.io/initial-events-end": "true"},
    }
    mark = {"kind": "Deployment", "apiVersion": "apps/v1", "metadata": metadata}
    return event(b"BOOKMARK", orjson.dumps(mark))


class WidgetSpec(Struct):
    size: int = 1
    colour: str = "blue"


class WidgetStatus(Struct):
    ready: bool = False


@custom_resource("bench.certwright.dev", "v1")
class Widget(Object):
    """A small custom resource with a status."""

    spec: WidgetSpec = field(default_factory=WidgetSpec)
    status: WidgetStatus = field(default_factory=WidgetStatus)
