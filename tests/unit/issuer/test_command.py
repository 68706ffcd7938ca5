"""What is typed wrongly is told in one line."""

import socket
from dataclasses import dataclass

import pytest
import yaml

from certwright.issuer import IssuerApp


@dataclass(frozen=True)
class Spec:
    pass


@pytest.fixture
def kubeconfig(tmp_path):
    path = tmp_path / "kubeconfig"
    config = {
        "clusters": [{"name": "a", "cluster": {"server": "http://127.0.0.1:1"}}],
        "contexts": [{"name": "a", "context": {"cluster": "a"}}],
        "current-context": "a",
    }
    path.write_text(yaml.safe_dump(config), "utf-8")
    return path


def test_an_address_in_use_is_named(kubeconfig, capsys):
    app = IssuerApp(group="pki.example.com", kind="DemoIssuer", spec=Spec)
    app.sign(lambda _request, _issuer: None)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        words = ["--no-preflight", "--no-leader-elect", "--kubeconfig", str(kubeconfig)]
        with pytest.raises(SystemExit) as ended:
            app.main(["run", *words, "--probes", address])
    assert ended.value.code == 2
    told = capsys.readouterr().err.splitlines()[-1]
    assert told == f"error: --probes {address}: Address already in use; choose another"
