"""A certificate authority behind HTTP as a cert-manager issuer, and one to try it with."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.request import urlopen

from certwright import pki
from certwright.issuer import Bundle, Issuer, IssuerApp, Request


@dataclass(frozen=True)
class Spec:
    url: str  # where the authority is


app = IssuerApp(group="demo.certwright.dev", kind="RemoteIssuer", spec=Spec, set_ca=True)


@app.check()
def check(issuer: Issuer[Spec]) -> None:
    urlopen(issuer.spec.url, timeout=10).close()  # noqa: S310 - what it raises is the status


@app.sign
def sign(request: Request, issuer: Issuer[Spec]) -> Bundle:  # not async: runs in a thread
    usages = [*request.usages.key_words(), *request.usages.extended_words()]
    terms = [request.duration.total_seconds(), request.is_ca, usages]
    data = json.dumps({"id": request.uid, "csr": request.csr_pem, "terms": terms}).encode()
    with urlopen(issuer.spec.url, data, timeout=10) as answer:  # noqa: S310 - trusted, it signs
        return Bundle.from_pem(answer.read())  # in any order; the root becomes the CA


class Authority(BaseHTTPRequestHandler):
    key, name = pki.generate_key(pki.KeySpec()), pki.parse_name("CN=Remote CA")
    root = pki.create_root(name, key, timedelta(days=3650), datetime.now(UTC))

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        seconds, is_ca, usages = asked["terms"]
        terms = pki.RequestTerms(timedelta(seconds=seconds), is_ca, pki.parse_usages(usages))
        leaf = self.root.issue_request(pki.read_request(asked["csr"]), terms, datetime.now(UTC))
        self.do_GET()
        self.wfile.write(self.root.write_chain(leaf) + self.root.top_pem)


@asynccontextmanager
async def authority() -> AsyncIterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Authority) as server:
        Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
