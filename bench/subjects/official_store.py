"""The official client: pages, then its Watch, typed objects in a dict."""

from typing import Any

from kubernetes import client, watch

from bench import meter


def main(task: meter.Task) -> None:
    api = client.AppsV1Api(client.ApiClient(client.Configuration(host=task.server)))
    objects: dict[tuple[Any, Any], Any] = {}
    meter.start()
    version = fill(api, objects)
    meter.mark("listed", release=task.events, tidy=True)
    for event in watch.Watch().stream(
        api.list_deployment_for_all_namespaces, resource_version=version
    ):
        meta = event["object"].metadata
        objects[meta.namespace, meta.name] = event["object"]
        if int(meta.resource_version) >= task.last_version:
            break
    meter.mark("done", tidy=True, gc_ms=meter.full_collection_ms(), count=len(objects))


def fill(api: client.AppsV1Api, objects: dict[tuple[Any, Any], Any]) -> str:
    token = None
    while True:
        page = api.list_deployment_for_all_namespaces(limit=500, _continue=token)
        listed: Any = page.metadata
        for obj in page.items:
            meta: Any = obj.metadata
            objects[meta.namespace, meta.name] = obj
        token = listed._continue  # noqa: SLF001 - the client's name for "continue"
        if not token:
            return str(listed.resource_version)


if __name__ == "__main__":
    main(meter.task())
