"""The command lines of the control plane's processes. Pure: folders and ports in, words out.

Everything listens on 127.0.0.1 and asks for a client certificate or token; requests without one
are system:anonymous, who may see health and version only, as on any cluster. etcd skips fsync
because its data dies with the run.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from certwright.testkit.controlplane.assets import Assets

CONTROLLERS: tuple[str, ...] = (
    "namespace-controller",
    "garbage-collector-controller",
    "serviceaccount-controller",
    "clusterrole-aggregation-controller",
    "root-ca-certificate-publisher-controller",
)
"""What a cluster without nodes does by itself."""
WORKLOAD_CONTROLLERS: tuple[str, ...] = (
    "deployment-controller",
    "replicaset-controller",
    "statefulset-controller",
    "daemonset-controller",
    "job-controller",
    "ttl-after-finished-controller",
    "endpoints-controller",
    "endpointslice-controller",
)
"""What makes pods, for those who bring a node to run them or to play them."""


@dataclass(frozen=True, slots=True)
class Ports:
    """The ports of one control plane, all on 127.0.0.1."""

    etcd: int
    etcd_peer: int
    apiserver: int


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the files of one control plane are."""

    folder: Path

    def file(self, name: str) -> Path:
        """Return the path of a file in the folder."""
        return self.folder / name


def etcd_command(assets: Assets, layout: Layout, ports: Ports) -> list[str | Path]:
    """Return etcd's command line: TLS, client certificates required."""
    url = f"https://127.0.0.1:{ports.etcd}"
    peer = f"https://127.0.0.1:{ports.etcd_peer}"
    return [
        assets.etcd,
        f"--data-dir={layout.file('etcd')}",
        f"--listen-client-urls={url}",
        f"--advertise-client-urls={url}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--client-cert-auth=true",
        f"--trusted-ca-file={layout.file('ca.crt')}",
        f"--cert-file={layout.file('serving.crt')}",
        f"--key-file={layout.file('serving.key')}",
        "--peer-client-cert-auth=true",
        f"--peer-trusted-ca-file={layout.file('ca.crt')}",
        f"--peer-cert-file={layout.file('serving.crt')}",
        f"--peer-key-file={layout.file('serving.key')}",
        "--unsafe-no-fsync=true",
        "--log-level=warn",
    ]


def apiserver_command(
    assets: Assets,
    layout: Layout,
    ports: Ports,
    extra: Sequence[str] = (),
    *,
    service_accounts: bool = False,
) -> list[str | Path]:
    """Return the API server's command line; *extra* flags come last and win.

    Pods get the credentials of their ServiceAccount with *service_accounts*. Where none is
    started, there is no reason to make each wait for its ServiceAccount.
    """
    without = [] if service_accounts else ["--disable-admission-plugins=ServiceAccount"]
    return [
        assets.apiserver,
        f"--etcd-servers=https://127.0.0.1:{ports.etcd}",
        f"--etcd-cafile={layout.file('ca.crt')}",
        f"--etcd-certfile={layout.file('admin.crt')}",
        f"--etcd-keyfile={layout.file('admin.key')}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        f"--secure-port={ports.apiserver}",
        f"--tls-cert-file={layout.file('serving.crt')}",
        f"--tls-private-key-file={layout.file('serving.key')}",
        f"--client-ca-file={layout.file('ca.crt')}",
        "--authorization-mode=RBAC",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={layout.file('tokens.pub')}",
        f"--service-account-signing-key-file={layout.file('tokens.key')}",
        "--service-cluster-ip-range=10.0.0.0/16",
        *without,
        f"--kubelet-client-certificate={layout.file('admin.crt')}",
        f"--kubelet-client-key={layout.file('admin.key')}",
        "--allow-privileged=true",
        "--profiling=false",
        "--endpoint-reconciler-type=none",
        *extra,
    ]


def controller_manager_command(
    assets: Assets, layout: Layout, controllers: Sequence[str] = CONTROLLERS
) -> list[str | Path]:
    """Return the controller manager's command line; it serves nothing itself."""
    return [
        assets.controller_manager,
        f"--kubeconfig={layout.file('kubeconfig')}",
        f"--controllers={','.join(controllers)}",
        "--leader-elect=false",
        "--secure-port=0",
        f"--root-ca-file={layout.file('ca.crt')}",
        f"--service-account-private-key-file={layout.file('tokens.key')}",
        "--use-service-account-credentials=false",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
    ]
