"""The official client: pages, then its Watch, typed objects in a dict."""

from typing import Any

from kubernetes import client, watch

from bench import meter


def main(task: meter.Task) -> None:
    api = client.AppsV1Api(client.ApiClient(client.Configuration(host=task.server)))
    objects: dict[tuple[str, str], Any] = {}
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


def fill(api: client.AppsV1Api, objects: dict[tuple[str, str], Any]) -> str:
    token = None
    while True:
        page = api.list_deployment_for_all_namespaces(limit=500, _continue=token)
        for obj in page.items:
            objects[obj.metadata.namespace, obj.metadata.name] = obj
        token = page.metadata._continue  # noqa: SLF001 - the client's name for "continue"
        if not token:
            return page.metadata.resource_version


if __name__ == "__main__":
    main(meter.task())
