import pytest

from certwright.apiserver.http.media import Form, accepted_form
from certwright.kube.errors import NotAcceptable


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", Form.OBJECT),
        ("*/*", Form.OBJECT),
        ("application/json", Form.OBJECT),
        ("application/vnd.kubernetes.protobuf,application/json", Form.OBJECT),
        ("application/json;as=Table;v=v1;g=meta.k8s.io", Form.TABLE),
        (
            "application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json;as=Table;v=v1;g=meta.k8s.io",
            Form.TABLE,
        ),
        ("application/json;as=Table;v=v9;g=meta.k8s.io, application/json", Form.OBJECT),
        ("application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", Form.METADATA),
        ("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", Form.METADATA),
    ],
)
def test_the_first_form_the_server_knows_is_taken(accept: str, form: Form) -> None:
    assert accepted_form(accept) is form


@pytest.mark.parametrize(
    "accept", ["application/xml", "application/json;as=Table;v=v9;g=meta.k8s.io"]
)
def test_nothing_else_is_acceptable(accept: str) -> None:
    with pytest.raises(NotAcceptable):
        accepted_form(accept)
