"""What ``kubectl get`` prints about built-in kinds."""

from tests.support.contract.manifests import ACCESS, CONFIG, OTHERS, PODS, SERVICES, WORKLOADS
from tests.support.contract.transcript import Conversation, contract

from certwright.kube.kinds import BUILT_IN

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
REVIEWS = {"authorization.k8s.io", "authentication.k8s.io"}
AGES = {"Age", "Last Seen", "First Seen", "Created At"}
PLURALS = {(resource.api_version, resource.kind): resource for resource in BUILT_IN}


@contract
async def test_headers(api: Conversation) -> None:
    for resource in BUILT_IN:
        if resource.group in REVIEWS:
            continue
        answer = await api.get(f"{resource.path()}?limit=1", accept=TABLE, recorded=False)
        columns = [
            {key: value for key, value in column.items() if key != "description"}
            for column in answer.body["columnDefinitions"]
        ]
        api.note({"asked": str(resource), "columns": columns})


@contract
async def test_rows(api: Conversation) -> None:
    for manifest in [*CONFIG, *SERVICES, *PODS, *WORKLOADS, *ACCESS, *OTHERS]:
        resource = PLURALS[manifest["apiVersion"], manifest["kind"]]
        if not resource.namespaced or manifest["kind"] in {"Service", "Job", "CronJob"}:
            continue
        path = resource.path("ns").replace("/ns/", "/{ns}/")
        made = await api.post(path, manifest, recorded=False)
        if made.status != 201:
            continue
        name = manifest["metadata"]["name"]
        answer = await api.get(f"{path}/{name}", accept=TABLE, recorded=False)
        names = [column["name"] for column in answer.body["columnDefinitions"]]
        cells = dict(zip(names, answer.body["rows"][0]["cells"], strict=True))
        shown = {key: value for key, value in cells.items() if key not in AGES}
        api.note({"asked": f"{manifest['kind']} {name}", "cells": shown})
        await api.delete(f"{path}/{name}?gracePeriodSeconds=0", recorded=False)
