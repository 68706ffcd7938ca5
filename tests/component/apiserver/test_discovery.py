"""What is served, told in the ways clients ask."""

from tests.component.apiserver.conftest import Api

AGGREGATED = (
    "Accept",
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json",
)


def test_the_version(api: Api) -> None:
    body = api.get("/version").body

    assert (body["major"], body["minor"], body["gitVersion"]) == ("1", "36", "v1.36.3")


def test_health(api: Api) -> None:
    for path in ("/healthz", "/livez", "/readyz"):
        assert api.get(path).body == "ok"


def test_groups(api: Api, widgets: str) -> None:
    assert api.get("/api").body["versions"] == ["v1"]
    groups = {group["name"]: group for group in api.get("/apis").body["groups"]}

    assert {"apps", "batch", "example.com", "rbac.authorization.k8s.io"} <= groups.keys()
    versions = [version["version"] for version in groups["example.com"]["versions"]]
    assert versions == ["v1", "v1beta1"]
    assert groups["example.com"]["preferredVersion"]["version"] == "v1"
    assert api.get("/apis/example.com").body["name"] == "example.com"


def test_resources_of_a_group(api: Api) -> None:
    resources = {each["name"]: each for each in api.get("/apis/apps/v1").body["resources"]}

    deployments = resources["deployments"]
    assert deployments["kind"] == "Deployment"
    assert deployments["namespaced"] is True
    assert deployments["shortNames"] == ["deploy"]
    assert deployments["categories"] == ["all"]
    assert "deletecollection" in deployments["verbs"]
    assert resources["deployments/scale"] == {
        "name": "deployments/scale",
        "singularName": "",
        "namespaced": True,
        "group": "autoscaling",
        "version": "v1",
        "kind": "Scale",
        "verbs": ["get", "patch", "update"],
    }
    assert list(resources) == sorted(resources)


def test_aggregated_discovery(api: Api, widgets: str) -> None:
    core = api.get("/api", headers=[AGGREGATED])
    rest = api.get("/apis", headers=[AGGREGATED])

    assert core.headers["content-type"] == AGGREGATED[1].split(",")[0]
    assert [item["metadata"].get("name", "") for item in core.body["items"]] == [""]
    groups = {item["metadata"]["name"]: item for item in rest.body["items"]}
    (widgets_v1, _beta) = groups["example.com"]["versions"]
    (resource,) = widgets_v1["resources"]
    assert resource["responseKind"] == {"group": "example.com", "version": "v1", "kind": "Widget"}
    assert resource["scope"] == "Namespaced"
    assert [each["subresource"] for each in resource["subresources"]] == ["scale", "status"]


def test_discovery_follows_definitions(api: Api, widgets: str) -> None:
    assert api.get("/apis/example.com/v1").status == 200

    api.delete("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com")

    assert api.get("/apis/example.com/v1").status == 404
    assert api.get("/openapi/v3/apis/example.com/v1").status == 404


def test_openapi(api: Api, widgets: str) -> None:
    index = api.get("/openapi/v3").body
    assert "apis/example.com/v1" in index["paths"]

    document = api.get("/openapi/v3/apis/example.com/v1").body

    assert document["openapi"].startswith("3.")
    assert any(name.endswith("Widget") for name in document["components"]["schemas"])
