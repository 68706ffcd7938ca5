import pytest

from certwright.kube import GroupVersionKind, Key, Resource
from certwright.kube.objects import GroupVersionResource

WIDGET = Resource("example.com", "v1", "Widget", "widgets")
NODE = Resource("", "v1", "Node", "nodes", namespaced=False)
POD = Resource("", "v1", "Pod", "pods")


def test_keys_read_and_print() -> None:
    assert str(Key("shop", "web")) == "shop/web"
    assert str(Key("", "node-1")) == "node-1"
    assert Key.parse("shop/web") == Key("shop", "web")
    assert Key.parse("node-1") == Key("", "node-1")


@pytest.mark.parametrize("text", ["", "a/", "a/b/c"])
def test_refuses_what_is_no_key(text: str) -> None:
    with pytest.raises(ValueError, match="is not of the form name or namespace/name"):
        Key.parse(text)


def test_kinds_read_and_print() -> None:
    kind = GroupVersionKind.parse("example.com/v1", "Widget")
    assert kind == GroupVersionKind("example.com", "v1", "Widget")
    assert (kind.api_version, str(kind)) == ("example.com/v1", "Widget.v1.example.com")
    core = GroupVersionKind.parse("v1", "Pod")
    assert (core.group, core.api_version, str(core)) == ("", "v1", "Pod")


@pytest.mark.parametrize(
    ("version", "kind"), [("", "Pod"), ("v1", ""), ("a/b/c", "Pod"), ("a/", "Pod")]
)
def test_refuses_what_is_no_kind(version: str, kind: str) -> None:
    with pytest.raises(ValueError, match="not a kind"):
        GroupVersionKind.parse(version, kind)


@pytest.mark.parametrize(
    ("resource", "arguments", "path"),
    [
        (POD, (), "/api/v1/pods"),
        (POD, ("shop",), "/api/v1/namespaces/shop/pods"),
        (POD, ("shop", "web"), "/api/v1/namespaces/shop/pods/web"),
        (POD, ("shop", "web", "status"), "/api/v1/namespaces/shop/pods/web/status"),
        (NODE, ("", "n1"), "/api/v1/nodes/n1"),
        (WIDGET, ("shop", "a"), "/apis/example.com/v1/namespaces/shop/widgets/a"),
        (NODE, ("", "system:node"), "/api/v1/nodes/system:node"),
    ],
)
def test_paths(resource: Resource, arguments: tuple[str, ...], path: str) -> None:
    assert resource.path(*arguments) == path


def test_paths_respect_the_scope() -> None:
    with pytest.raises(ValueError, match="Node is cluster-scoped; got namespace 'shop'"):
        NODE.path("shop", "n1")
    with pytest.raises(ValueError, match="Pod 'web' needs a namespace"):
        POD.path(name="web")


@pytest.mark.parametrize(
    "part", ["..", ".", "a/b", "../secrets/x", "a?watch=1", "a%2Fb", "a#b", "a b", "a\r\nHost: x"]
)
def test_names_cannot_lead_to_another_place(part: str) -> None:
    for arguments in ((part, "web"), ("shop", part), ("shop", "web", part)):
        with pytest.raises(ValueError, match="cannot be part of a path"):
            POD.path(*arguments)


def test_names_of_a_resource() -> None:
    assert WIDGET.gvk == GroupVersionKind("example.com", "v1", "Widget")
    assert WIDGET.gvr == GroupVersionResource("example.com", "v1", "widgets")
    assert (WIDGET.qualified, POD.qualified) == ("widgets.example.com", "pods")
    assert (WIDGET.api_version, POD.api_version) == ("example.com/v1", "v1")
    assert str(WIDGET) == "Widget.v1.example.com"
