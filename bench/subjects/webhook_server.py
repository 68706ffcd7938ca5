"""Two webhooks for Deployments and ConfigMaps, one that patches and one that looks at the object.

Arguments: the folder with the certificate, and a port. Writes the port when it listens.
"""

import asyncio
import json
import sys
from datetime import timedelta

from certwright.clock import SYSTEM
from certwright.kube.kinds import ConfigMap
from certwright.runtime import ListenAddress, Metrics, configure_logs, new_event_loop
from certwright.runtime.process.memory import release_memory
from certwright.tls.directory import DirectoryFollower
from certwright.tls.server import ServingCertificate
from certwright.webhook import (
    AdmissionHandler,
    AdmissionReview,
    Allow,
    CertificateDirectory,
    Decision,
    Deny,
    Patch,
    intercept,
)
from certwright.webhook.endpoints import AdmissionEndpoint
from certwright.webhook.metrics import WebhookMetrics
from certwright.webhook.server import WebhookServer, webhook_profile

RULES = [intercept(ConfigMap, "CREATE")]


def check(review: AdmissionReview) -> Decision:
    labels = review.obj()["metadata"].get("labels", {})
    return Deny("not allowed") if "denied" in labels else Allow()


def mutate(review: AdmissionReview) -> Decision:
    wanted = review.obj()
    wanted["metadata"].setdefault("labels", {})["team"] = "bench"
    wanted["metadata"].setdefault("annotations", {})["reviewed"] = "yes"
    return Patch(wanted)


WEBHOOKS = [
    AdmissionHandler("check.bench.dev", check, RULES, path="/check"),
    AdmissionHandler("mutate.bench.dev", mutate, RULES, mutating=True, path="/mutate"),
]


async def main(folder: str, port: int) -> None:
    numbers = WebhookMetrics(Metrics())
    certificate = ServingCertificate(SYSTEM, numbers, webhook_profile())
    follower = DirectoryFollower(
        CertificateDirectory(folder, interval=timedelta(milliseconds=100)), certificate
    )
    server = WebhookServer(
        [AdmissionEndpoint(webhook) for webhook in WEBHOOKS],
        certificate,
        numbers,
        ListenAddress(port),
    )
    await follower.look()
    async with asyncio.TaskGroup() as group:
        group.create_task(server.run())
        group.create_task(follower.run())
        port = await server.listening()
        release_memory()  # as every process of ours does when it is set up
        print(json.dumps({"port": port}), flush=True)


if __name__ == "__main__":
    configure_logs(level="warning")
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(main(sys.argv[1], int(sys.argv[2])))
