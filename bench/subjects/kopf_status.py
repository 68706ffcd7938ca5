"""A kopf operator that writes one status per Widget, as its documentation shows."""

import os
from typing import Any

import kopf

from bench import meter
from bench.subjects import kopf_operator


@kopf.on.login()
def login(**kwargs: Any) -> kopf.ConnectionInfo | None:
    return kopf.login_with_kubeconfig(**kwargs)


@kopf.on.create("bench.certwright.dev", "v1", "widgets")
async def on_create(patch: kopf.Patch, **_: Any) -> None:
    patch.status["ready"] = True


if __name__ == "__main__":
    os.environ["KUBECONFIG"] = meter.task().kubeconfig
    meter.start()
    kopf_operator.run()
