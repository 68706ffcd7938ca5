"""Webhooks whose connections go wrong: nothing hangs, and the client is told what happened."""

import pytest
from tests.support.contract.broken_servers import (
    SYNTAX,
    WITH_TLS,
    WITHOUT_TLS,
    Behaviour,
    broken_server,
)
from tests.support.contract.hooks import Hooks
from tests.support.contract.samples import CONFIG_MAPS, config_map
from tests.support.contract.transcript import Conversation, contract


async def ask(
    api: Conversation, behaviour: Behaviour, policy: str, *, tls: bool, same_words: bool = True
) -> None:
    async with Hooks(api) as hooks, broken_server(behaviour, tls=tls) as port:
        api.symbols._literal[f":{port}"] = ":<port>"
        client = {**hooks.client("a"), "url": f"https://127.0.0.1:{port}/a"}
        hook = hooks.webhook("a", clientConfig=client, timeoutSeconds=1, failurePolicy=policy)
        await hooks.configure("Validating", hook)
        await api.post(CONFIG_MAPS, config_map("a"), same_words=same_words)


@pytest.mark.parametrize("name", WITH_TLS)
@contract
async def test_broken_answers(api: Conversation, name: str) -> None:
    await ask(api, WITH_TLS[name], "Fail", tls=True, same_words=name not in SYNTAX)


@pytest.mark.parametrize("name", WITHOUT_TLS)
@contract
async def test_broken_handshakes(api: Conversation, name: str) -> None:
    await ask(api, WITHOUT_TLS[name], "Fail", tls=False)


@pytest.mark.parametrize("name", ["silent", "half a body"])
@contract
async def test_broken_answers_that_do_not_matter(api: Conversation, name: str) -> None:
    await ask(api, WITH_TLS[name], "Ignore", tls=True)
