"""Spec types on both sides: Python's names and values here, camelCase and references there."""

from dataclasses import dataclass, field
from typing import Annotated, Any

import pytest
from msgspec import Meta, Struct

from certwright.issuer import SecretData, SecretKey
from certwright.issuer.spec import (
    SecretDataReference,
    SecretKeyReference,
    SpecError,
    SpecType,
)
from certwright.kube.schemas.structural import structural_schema


@dataclass(frozen=True)
class Login:
    """How to log in."""

    user_name: str
    password: SecretKey | None = None


@dataclass(frozen=True)
class Spec:
    """Where the authority is."""

    base_url: Annotated[str, Meta(min_length=1)]
    login: Login
    mirrors: list[Login] = field(default_factory=list)
    keys: dict[str, SecretKey] = field(default_factory=dict)
    trust: SecretData | None = None
    retries: int = 3
    fallback: Login = field(default_factory=lambda: Login("nobody"))


TYPE = SpecType(Spec)
YAML = (
    b'{"baseUrl":"https://ca","login":{"userName":"a","password":{"name":"s","key":"p"}},'
    b'"mirrors":[{"userName":"b","password":{"name":"t","key":"q"}}],'
    b'"keys":{"x":{"name":"u","key":"r"}},"trust":{"name":"bundle"}}'
)


def resolve(reference: SecretKeyReference | SecretDataReference) -> Any:
    if isinstance(reference, SecretKeyReference):
        return SecretKey(f"{reference.name}:{reference.key}")
    return SecretData(reference.name, {"ca.crt": b"pem"})


def test_references_are_found_at_any_depth() -> None:
    found = list(TYPE.references(TYPE.read(YAML)))
    assert found == [
        SecretKeyReference("s", "p"),
        SecretKeyReference("t", "q"),
        SecretKeyReference("u", "r"),
        SecretDataReference("bundle"),
    ]


def test_the_author_gets_their_own_types_with_values_in_them() -> None:
    spec = TYPE.build(TYPE.read(YAML), resolve)
    assert isinstance(spec, Spec)
    assert spec.login == Login("a", SecretKey("s:p"))
    assert spec.mirrors == [Login("b", SecretKey("t:q"))]
    assert spec.keys == {"x": "u:r"}
    assert spec.trust is not None
    assert spec.trust["ca.crt"] == b"pem"
    assert (spec.retries, spec.fallback) == (3, Login("nobody"))
    assert "s:p" not in repr(spec)


def test_the_schema_has_the_apis_names_and_the_authors_words() -> None:
    schema = structural_schema(TYPE.wire)
    assert schema["description"] == "Where the authority is."
    assert schema["required"] == ["baseUrl", "login"]
    assert schema["properties"]["baseUrl"] == {"type": "string", "minLength": 1}
    assert schema["properties"]["fallback"]["default"] == {"userName": "nobody"}
    password = schema["properties"]["login"]["properties"]["password"]
    assert set(password["properties"]) == {"name", "key"}


@pytest.mark.parametrize(
    ("text", "where"),
    [
        (b"{}", "spec: "),
        (b'{"baseUrl":"x","login":{"userName":1}}', "spec.login.userName: "),
        (b'{"baseUrl":"","login":{"userName":"a"}}', "spec.baseUrl: "),
    ],
)
def test_what_has_another_shape_is_refused_by_name(text: bytes, where: str) -> None:
    with pytest.raises(SpecError, match=f"^{where}"):
        TYPE.read(text)


def test_the_authors_own_checks_are_heard() -> None:
    @dataclass(frozen=True)
    class Picky:
        url: str

        def __post_init__(self) -> None:
            if not self.url.startswith("https://"):
                raise ValueError("only https")

    kind = SpecType(Picky)
    with pytest.raises(SpecError, match="only https"):
        kind.build(kind.read(b'{"url":"http://ca"}'), resolve)


def test_plain_structs_are_used_as_they_are() -> None:
    class Plain(Struct):
        url: str

    assert SpecType(Plain).wire is Plain
    assert not SpecType(Plain).uses_secrets
    assert TYPE.uses_secrets


def test_secrets_do_not_show() -> None:
    key, data = SecretKey("swordfish"), SecretData("s", {"a": b"swordfish"})
    assert key == "swordfish"
    assert f"{key}" == "swordfish"
    for shown in (repr(key), repr(data), f"{[key]}", str(data)):
        assert "swordfish" not in shown
    assert dict(data) == {"a": b"swordfish"}
