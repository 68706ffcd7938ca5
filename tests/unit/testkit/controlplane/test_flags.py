"""Nothing of the control plane listens beyond this machine or admits strangers."""

import re
from pathlib import Path

from certwright.testkit.controlplane.assets import Assets
from certwright.testkit.controlplane.flags import (
    Layout,
    Ports,
    apiserver_command,
    controller_manager_command,
    etcd_command,
)

ASSETS = Assets(Path("bin"), "cache")
LAYOUT = Layout(Path("run"))
PORTS = Ports(etcd=1001, etcd_peer=1002, apiserver=1003)


def test_everything_listens_on_loopback_only() -> None:
    words = [
        *etcd_command(ASSETS, LAYOUT, PORTS),
        *apiserver_command(ASSETS, LAYOUT, PORTS),
        *controller_manager_command(ASSETS, LAYOUT),
    ]
    listening = [
        str(word) for word in words if re.search(r"listen|bind-address|=https?://", str(word))
    ]
    assert len(listening) >= 6
    loopback = [word for word in listening if "127.0.0.1" in word]
    assert loopback == [word for word in listening if "kubernetes.default.svc" not in word]


def test_nobody_gets_in_without_a_credential() -> None:
    etcd = etcd_command(ASSETS, LAYOUT, PORTS)
    assert "--client-cert-auth=true" in etcd
    assert "--peer-client-cert-auth=true" in etcd
    assert "--authorization-mode=RBAC" in apiserver_command(ASSETS, LAYOUT, PORTS)
    assert "--secure-port=0" in controller_manager_command(ASSETS, LAYOUT)


def test_the_callers_flags_come_last_and_win() -> None:
    command = apiserver_command(ASSETS, LAYOUT, PORTS, ["--v=4"])
    assert command[-1] == "--v=4"
