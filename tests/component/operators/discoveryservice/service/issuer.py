"""Issues what DiscoveryServiceCertificates ask for, at once and once, as far as tests need it."""

from base64 import b64encode
from collections.abc import Iterator
from datetime import timedelta

from certwright import pki
from certwright.api.discoveryservices import DiscoveryServiceCertificate
from certwright.kube import JsonObject, Key
from certwright.kube.kinds import Secret
from certwright.runtime import (
    DONE,
    Context,
    Controller,
    Operator,
    OperatorHost,
    Outcome,
    Part,
    again,
)

DSC = DiscoveryServiceCertificate.resource


def certificates() -> Operator:
    """Return the operator."""

    def build(_host: OperatorHost) -> Iterator[Part]:
        roots: dict[Key, pki.Authority] = {}

        async def reconcile(ctx: Context, key: Key) -> Outcome:
            obj = ctx.get(DSC, key)
            if obj is None or ctx.get(Secret, key) is not None:
                return DONE
            spec, now = obj["spec"], ctx.clock.now()
            lifetime = timedelta(seconds=spec["validFor"])
            own = pki.generate_key(pki.KeySpec())
            name = pki.distinguished_name(spec["commonName"])
            if spec.get("isCA"):
                roots[key] = root = pki.create_root(name, own, lifetime, now)
                certificate = root.certificate
            else:
                reference = spec["signer"]["caSigned"]["caSecretRef"]
                found = roots.get(Key(reference["namespace"], reference["name"]))
                if found is None:
                    return again(1)
                root = found
                names = pki.AlternativeNames.of_hosts(*spec.get("hosts", ()))
                public = own.public_key()
                template = (
                    pki.server_template(name, public, lifetime, names)
                    if spec.get("server")
                    else pki.client_template(name, public, lifetime)
                )
                certificate = root.issue(template, now)
            data = {
                "tls.crt": pki.write_certificates(certificate),
                "tls.key": pki.write_key(own),
                "ca.crt": pki.write_certificates(root.certificate),
            }
            await ctx.create(_secret(key, data), owner=obj)
            return DONE

        yield Controller(
            DSC, reconcile, name="test-issuer", watches=[], owns=[Secret], conditions=()
        )

    return Operator("test-issuer", build, kinds=[DiscoveryServiceCertificate])


def _secret(key: Key, data: dict[str, bytes]) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": key.name, "namespace": key.namespace},
        "type": "kubernetes.io/tls",
        "data": {name: b64encode(value).decode() for name, value in data.items()},
    }
