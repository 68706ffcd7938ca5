"""A temporary copy of the issuer under test."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import uuid4

from certwright.issuer.conformance.cases.objects import LABEL
from certwright.issuer.conformance.undertest import IssuerUnderTest
from certwright.kube import JsonObject, Key


def new_name(subject: IssuerUnderTest) -> str:
    """Return a name for a copy that is unique: requests refer to it before it exists."""
    return f"{subject.issuer.name}-copy-{uuid4().hex[:8]}"


@asynccontextmanager
async def copied_issuer(subject: IssuerUnderTest, name: str) -> AsyncIterator[None]:
    """Create a copy of the issuer under another name; it is deleted at the end."""
    original = await subject.client.get(subject.resource, subject.issuer)
    metadata: JsonObject = {"name": name, "labels": {LABEL: "copied-issuer"}}
    if subject.issuer.namespace:
        metadata["namespace"] = subject.issuer.namespace
    copy: JsonObject = {"apiVersion": original["apiVersion"], "kind": original["kind"]}
    if "spec" in original:
        copy["spec"] = original["spec"]
    await subject.client.create({**copy, "metadata": metadata})
    try:
        yield
    finally:
        await subject.client.delete(subject.resource, Key(subject.issuer.namespace, name))
