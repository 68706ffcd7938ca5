"""A certificate authority as a cert-manager issuer: ``python issuer.py --help`` runs it."""

from dataclasses import dataclass

from certwright.issuer import Bundle, Issuer, IssuerApp, Request, SecretData
from certwright.pki import Authority, read_certificate, read_key


@dataclass(frozen=True)
class Spec:
    ca: SecretData  # in YAML {name: …}; here its content, watched for changes

    def authority(self) -> Authority:
        return Authority(read_certificate(self.ca["tls.crt"]), read_key(self.ca["tls.key"]))


app = IssuerApp(group="demo.certwright.dev", kind="DemoIssuer", spec=Spec, set_ca=True)


@app.check()
def check(issuer: Issuer[Spec]) -> None:
    issuer.spec.authority()  # what it raises is what the issuer's status says


@app.sign
async def sign(request: Request, issuer: Issuer[Spec]) -> Bundle:
    return await request.sign_with(issuer.spec.authority())


if __name__ == "__main__":
    app.main()
