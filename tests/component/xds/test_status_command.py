"""``certwright xds status --server``: a discovery server is asked what its Envoys hold."""

from datetime import datetime
from pathlib import Path

import pytest
from tests.support.xds.client import ADS, Served, accepted, request, until
from tests.support.xds.models import snapshot

from certwright.cli.errors import UsageError
from certwright.cli.options import Output
from certwright.cli.xds.envoys import AskedServer, ask, show_envoys
from certwright.clock import SYSTEM
from certwright.tls.certificates import TlsFiles
from certwright.xds.snapshot import NodeKey
from certwright.xds.typeurls import CLUSTER, LISTENER

KEY = NodeKey("shop", "gateway")


def write(folder: Path, files: TlsFiles) -> Path:
    folder.mkdir()
    (folder / "tls.crt").write_bytes(files.certificate)
    (folder / "tls.key").write_bytes(files.key)
    (folder / "ca.crt").write_bytes(files.authority)
    return folder


async def test_each_envoy_and_type_is_a_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    served = Served()
    served.snapshots.put(KEY, snapshot(CLUSTER, "v1", x="1"))
    shop, other = (write(tmp_path / n, served.ca.client(n)) for n in ("shop", "other"))
    async with served.running(), served.client() as client:
        asked = AskedServer(f"127.0.0.1:{served.server.port}", "localhost", shop)
        assert await ask(asked, "") == []
        assert await show_envoys([asked], "", Output.JSON) == 0
        call = client.call(ADS)
        client.send(call, request(CLUSTER, "gateway"))
        response = await client.response(call)
        client.send(call, accepted(response))
        await until(lambda: served.server.connections.observe()[0].in_sync)
        [row] = await ask(asked, "gateway")
        assert (row["node"], row["type"], row["held"]) == ("gateway", "Cluster", "v1")
        assert (row["state"], row["verdict"], row["version"]) == ("Synced", "ACK", "1.40.0")
        assert (row["wanted"], row["serial"]) == ("v1", served.server.connections.shown()[0].serial)
        assert datetime.fromisoformat(row["certificateExpires"]) > SYSTEM.now()
        assert await ask(asked, "another") == []
        served.snapshots.put(KEY, snapshot(CLUSTER, "v2", x="2"))
        response = await client.response(call)
        rejected = accepted(response)
        rejected.error_detail.message = "cluster x: no"
        client.send(call, rejected)
        await until(lambda: served.server.connections.observe()[0].types[0].rejected)
        [row] = await ask(asked, "gateway")
        assert (row["wanted"], row["held"], row["rejected"]) == ("v2", "v1", "v2")
        replicas = [asked, AskedServer(asked.address, "localhost", shop)]
        capsys.readouterr()
        assert await show_envoys(replicas, "", Output.TABLE) == 1
        text = capsys.readouterr().out
        assert len(text.splitlines()) == 3, "of each that was asked"
        assert "Error NACK" in text
        assert "cluster x: no" in text
        stranger = AskedServer(asked.address, "localhost", other)
        assert await ask(stranger, "") == [], "only of the own namespace"
    assert LISTENER not in text


async def test_what_keeps_from_an_answer_is_named(tmp_path: Path) -> None:
    served, foreign = Served(), Served()
    good = write(tmp_path / "good", served.ca.client("shop"))
    bad = write(tmp_path / "bad", foreign.ca.client("shop"))
    (bad / "ca.crt").write_bytes(served.ca.pem)
    async with served.running():
        address = f"127.0.0.1:{served.server.port}"
        for asked in (
            AskedServer("nonsense", "", good),
            AskedServer(address, "other.name", good),
            AskedServer(address, "localhost", bad),
            AskedServer(address, "localhost", tmp_path / "missing"),
        ):
            with pytest.raises(UsageError):
                await ask(asked, "")
    with pytest.raises(UsageError, match=address):
        await ask(AskedServer(address, "localhost", good), "")
