"""The example in the documentation of `crd` is code, and it runs."""

import textwrap
from typing import Annotated, Any

from msgspec import Meta, Struct, field

from certwright.kube import Column, Object, crd_manifest, custom_resource
from certwright.kube.schemas import crd as documented


def test_the_documented_example_declares_a_kind() -> None:
    documentation = documented.__doc__ or ""
    block = documentation.split("::\n", 1)[1].split("\nHow types become", 1)[0]
    names: dict[str, Any] = {
        "Annotated": Annotated,
        "Column": Column,
        "Meta": Meta,
        "Object": Object,
        "Struct": Struct,
        "crd_manifest": crd_manifest,
        "custom_resource": custom_resource,
        "field": field,
    }
    exec(textwrap.dedent(block), names)  # noqa: S102 - our own documentation
    manifest = names["manifest"]
    assert manifest["metadata"] == {"name": "greetings.demo.certwright.dev"}
    (version,) = manifest["spec"]["versions"]
    assert [column["name"] for column in version["additionalPrinterColumns"]] == ["Ready", "Age"]
    assert version["schema"]["openAPIV3Schema"]["properties"]["spec"]["description"] == (
        "What to say, and how often."
    )
