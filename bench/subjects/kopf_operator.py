"""How kopf is run in every comparison: its defaults, but silent and without side business."""

import asyncio
import logging

import kopf


def run() -> None:
    """Run the handlers registered so far, in all namespaces, until the process is ended."""
    logging.disable(logging.WARNING)
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    settings.scanning.disabled = True
    asyncio.run(kopf.operator(settings=settings, standalone=True, clusterwide=True))
