"""Which Pod an Envoy runs in: a rejection that names an address alone is hard to follow up."""

from collections.abc import Sequence
from ipaddress import ip_address

from msgspec.structs import replace

from certwright.api.envoyconfigs import Rejection
from certwright.client import Client, TransportError
from certwright.kube import ApiError
from certwright.kube.kinds import Pod


async def with_pods(
    client: Client, namespace: str, rejections: Sequence[Rejection]
) -> list[Rejection]:
    """Return rejections with the Pods of their Envoys, as far as addresses tell.

    Those stay as they are that have no Pod in the namespace, or share the address of their node.
    """
    names: dict[str, str] = {}
    for address in dict.fromkeys(address_of(one.envoy) for one in rejections):
        names[address] = await _pod_at(client, namespace, address) if address else ""
    return [_named(one, names[address_of(one.envoy)]) for one in rejections]


def address_of(envoy: str) -> str:
    """Return the address of ``address:port``; empty if it is something else."""
    host = envoy.rpartition(":")[0]
    try:
        ip_address(host)
    except ValueError:
        return ""
    return host


async def _pod_at(client: Client, namespace: str, address: str) -> str:
    """Return the name of the Pod that has an address; empty if that is not known."""
    fields = f"status.podIP={address},status.phase=Running"
    try:
        found = (await client.list(Pod, namespace, fields=fields)).items
    except (ApiError, TransportError):
        return ""  # the address is told all the same
    return str(found[0]["metadata"]["name"]) if len(found) == 1 else ""


def _named(rejection: Rejection, pod: str) -> Rejection:
    return replace(rejection, envoy=f"{pod} ({rejection.envoy})") if pod else rejection
