from transcript import Conversation, contract


@contract
async def test_config_maps(api: Conversation) -> None:
    path = "/api/v1/namespaces/{ns}/configmaps"
    made = await api.post(
        path,
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "1"}},
    )
    await api.get(f"{path}/a")
    await api.get(f"{path}/b")
    await api.put(f"{path}/a", {**made.body, "data": {"x": "2"}})
    await api.put(f"{path}/a", {**made.body, "data": {"x": "3"}})
    await api.apply(
        f"{path}/a", {"apiVersion": "v1", "kind": "ConfigMap", "data": {"x": "9"}}, "me"
    )
    await api.delete(f"{path}/a")
    await api.delete(f"{path}/a")
