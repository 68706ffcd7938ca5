from base64 import b64encode
from datetime import UTC, datetime, timedelta

from certwright import pki
from certwright.kube import JsonObject, Key
from certwright.operators.discoveryservice.certificates.rotation.places import (
    PlaceAges,
    bundle_place,
)
from certwright.pki.certificates import Certificate, fingerprint

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def ca() -> Certificate:
    key = pki.generate_key(pki.KeySpec(pki.KeyAlgorithm.ECDSA))
    return pki.create_root(pki.parse_name("CN=ca"), key, timedelta(days=1), NOW).certificate


A, B = ca(), ca()


def registered(*bundles: bytes) -> JsonObject:
    hooks = [{"clientConfig": {"caBundle": b64encode(one).decode()}} for one in bundles]
    return {
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "m"},
        "webhooks": hooks,
    }


def test_a_config_map_names_what_its_key_holds() -> None:
    config = {"kind": "ConfigMap", "metadata": {"name": "m", "namespace": "n"}}
    assert bundle_place(config) is None
    found = bundle_place({**config, "data": {"ca.crt": pki.write_bundle([A, B]).decode()}})
    assert found is not None
    assert found.name == "ConfigMap n/m"
    assert found.trusts == {fingerprint(A), fingerprint(B)}
    nothing = bundle_place({**config, "data": {"ca.crt": "no PEM"}})
    assert nothing is not None
    assert nothing.trusts == frozenset()


def test_a_webhook_configuration_trusts_what_all_its_webhooks_name() -> None:
    assert bundle_place(registered()) is None
    both = registered(pki.write_bundle([A, B]), pki.write_bundle([A]))
    found = bundle_place(both)
    assert found is not None
    assert found.trusts == {fingerprint(A)}
    broken = bundle_place(registered(pki.write_bundle([A]), b"broken"))
    assert broken is not None
    assert broken.trusts == frozenset()


def test_ages_begin_anew_with_every_change() -> None:
    ages, key = PlaceAges(), Key("n", "ca")
    assert ages.age(key, "p", "trusts", "1", 100.0) == timedelta()
    assert ages.age(key, "p", "trusts", "1", 160.0) == timedelta(minutes=1)
    assert ages.age(key, "p", "signer", "1", 160.0) == timedelta()
    assert ages.age(key, "p", "trusts", "2", 200.0) == timedelta()
    assert ages.age(key, "p", "trusts", "1", 220.0) == timedelta()
    ages.forget(key)
    assert ages.age(key, "p", "trusts", "1", 900.0) == timedelta()
