"""Imports point down. The tree can be trusted because this test reads every import."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.architecture.conftest import Module

ALLOWED = {
    # layer: the layers below it that it may import
    "clock": set(),
    "listener": set(),
    "kube": set(),
    "pki": set(),
    "api": {"kube"},
    "client": {"kube", "clock"},
    "apply": {"client", "kube", "clock"},
    "managed": {"apply", "client", "api", "kube", "clock"},
    "runtime": {"client", "kube", "listener", "clock"},
    "tls": {"client", "pki", "clock"},
    "webhook": {"tls", "runtime", "client", "pki", "kube", "listener", "clock"},
    "xds": {"tls", "runtime", "pki", "listener", "clock"},
    "keep": {"apply", "runtime", "client", "kube", "clock"},
    "bundles": {"apply", "kube"},
    "issuer": {"runtime", "client", "api", "pki", "kube", "clock"},
    "issuers": {"issuer", "runtime", "client", "api", "pki", "kube", "listener", "clock"},
    "operators": {
        "keep", "bundles", "webhook", "xds", "tls", "managed", "apply", "runtime", "client", "api", "pki", "kube", "clock",
    },
    "apiserver": {"client", "kube", "pki", "listener", "clock"},
    "testkit": {
        "apiserver", "bundles", "apply", "runtime", "client", "api", "pki", "kube", "listener", "clock",
    },
    "cli": {
        "testkit", "apiserver", "operators", "issuers", "issuer", "managed", "webhook", "xds", "tls", "bundles", "apply",
        "runtime",
        "client", "api", "pki", "kube", "listener", "clock",
    },
}  # fmt: skip

THIRD_PARTY = {
    # distribution's import name: the only places that may know it
    "aiohttp": {
        "certwright.issuers.acme.responder",
        "certwright.issuers.web",
        "certwright.runtime.serve.probeserver",
        "certwright.apiserver.http.listener",
        "certwright.webhook.response",
        "certwright.webhook.server",
        "certwright.testkit.node.kubelet",
    },
    "brotli": {"certwright.apply.manifests.compression"},
    "cel": {"certwright.apiserver.cel."},
    "cryptography": {
        "certwright.cli.cert.details",
        "certwright.cli.cert.diagnostics",
        "certwright.cli.cert.lint",
        "certwright.cli.cert.contents",
        "certwright.cli.cert.table",
        "certwright.issuer.conformance.details",
        "certwright.issuers.",
        "certwright.pki.",
    },
    "google": {"certwright.xds.messages", "certwright.xds.schema."},
    "h2": {"certwright.xds.grpc."},
    "pkilint": {"certwright.cli.cert.lint"},
    "pkcs11": {"certwright.issuers.pkcs11."},
    "prometheus_client": {"certwright.runtime.serve.metrics"},
    "pytest": {"certwright.testkit.plugin"},
    "pytest_asyncio": {"certwright.testkit.plugin"},
    "structlog": {
        "certwright.issuer.run.lifetime",
        "certwright.issuer.run.run",
        "certwright.issuer.sign.threads",
        "certwright.issuers.acme.issuer",
        "certwright.operators.discoveryservice.config.publisher",
        "certwright.operators.discoveryservice.config.envoys.older",
        "certwright.operators.discoveryservice.config.envoys.replicacounts",
        "certwright.operators.discoveryservice.config.envoys.reporter",
        "certwright.operators.discoveryservice.connected.reporter",
        "certwright.runtime.",
        "certwright.tls.",
        "certwright.webhook.",
        "certwright.xds.",
        "certwright.cli.",
    },
    "typer": {"certwright.cli."},
    "uvloop": {"certwright.runtime.process.eventloop"},
    "yaml": {
        "certwright.apply.manifests.yamldocument",
        "certwright.client.config.kubeconfig",
        "certwright.issuer.run.command",
        "certwright.operators.tokenrequestor.contents",
        "certwright.apiserver.http.",
        "certwright.cli.",
        "certwright.testkit.",
    },
}
EVERYWHERE = {"certwright", "msgspec", "orjson"}


def test_every_layer_is_known(modules: list[Module]) -> None:
    layers = {module.layer for module in modules} - {""}
    assert layers == set(ALLOWED)


def test_layers_import_only_downwards(modules: list[Module]) -> None:
    wrong = [
        f"{module.where}:{line}: {module.layer} imports {name}"
        for module in modules
        for name, line in module.imports()
        if name.startswith("certwright.")
        and (target := name.split(".")[1]) != module.layer
        and target not in ALLOWED.get(module.layer, set())
    ]
    assert not wrong, "\n".join(wrong)


def test_the_http_stack_stands_alone(modules: list[Module]) -> None:
    """It could serve any HTTP client: neither imports nor words of Kubernetes."""
    words = re.compile(
        r"kube|api.?server|service.?account|namespace|cluster|\bpods?\b", re.IGNORECASE
    )
    stack = [module for module in modules if module.name.startswith("certwright.client.http.")]
    assert len(stack) > 5
    wrong = [
        f"{module.where}:{line}: imports {name}"
        for module in stack
        for name, line in module.imports()
        if name.startswith("certwright") and not name.startswith("certwright.client.http")
    ]
    wrong += [
        f"{module.where}: {found[0]!r}"
        for module in stack
        if (found := words.search(module.path.read_text("utf-8")))
    ]
    assert not wrong, "\n".join(wrong)


def test_operators_do_not_know_each_other(modules: list[Module]) -> None:
    def operator(name: str) -> str:
        return name.split(".")[2] if name.startswith("certwright.operators.") else ""

    wrong = [
        f"{module.where}:{line}: imports {name}"
        for module in modules
        if operator(module.name)
        for name, line in module.imports()
        if operator(name) not in {"", operator(module.name)}
    ]
    assert not wrong, "\n".join(wrong)


def test_third_party_libraries_stay_where_they_belong(modules: list[Module]) -> None:
    wrong = []
    for module in modules:
        for name, line in module.imports():
            top = name.split(".")[0]
            if top in sys.stdlib_module_names or top in EVERYWHERE:
                continue
            places = THIRD_PARTY.get(top, set())
            if not any(
                module.name == place or (place.endswith(".") and module.name.startswith(place))
                for place in places
            ):
                wrong.append(f"{module.where}:{line}: imports {name}")
    assert not wrong, "\n".join(wrong)


def test_what_serves_nothing_loads_no_web_server(root: Path) -> None:
    """The libraries of a server are memory that most processes have no use for."""
    code = "import sys, certwright.client, certwright.runtime; sys.exit('aiohttp' in sys.modules)"
    environ = {**os.environ, "PYTHONPATH": str(root / "src")}
    assert subprocess.run([sys.executable, "-c", code], env=environ, check=False).returncode == 0


def test_the_lowest_layers_neither_wait_nor_do_input_or_output(modules: list[Module]) -> None:
    banned = {"asyncio", "socket", "ssl", "subprocess", "os", "pathlib", "threading", "selectors"}
    wrong = [
        f"{module.where}:{line}: imports {name}"
        for module in modules
        if module.layer in {"kube", "api", "clock", "pki"}
        for name, line in module.imports()
        if name.split(".")[0] in banned
    ]
    assert not wrong, "\n".join(wrong)
