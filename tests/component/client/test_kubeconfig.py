"""Kubeconfig files: merged, resolved, and refused with a message that helps."""

import base64
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from certwright.client import Config, ConfigError, Material, User, in_cluster, load_config
from certwright.client.config.config import Impersonation, InteractiveMode
from certwright.kube import JsonObject

EXEC_V1 = "client.authentication.k8s.io/v1"


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def document(
    cluster: JsonObject | None = None,
    user: JsonObject | None = None,
    context: JsonObject | None = None,
    **top: Any,
) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "dev",
        "clusters": [{"name": "c", "cluster": cluster or {"server": "https://api:6443"}}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": "dev", "context": {"cluster": "c", "user": "u", **(context or {})}}],
        **top,
    }


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Any]:
    def write(content: Any, name: str = "config") -> Path:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
        return path

    return write


@pytest.fixture
def load(write: Callable[..., Any]) -> Callable[..., Any]:
    def load(content: Any, context: Any = None, environ: Any = None) -> Config:
        return load_config(write(content), context, environ or {})

    return load


def refusal(load: Callable[..., Any], content: str | JsonObject, **arguments: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        load(content, **arguments)
    return str(caught.value)


def test_the_current_context(load: Callable[..., Any], tmp_path: Path) -> None:
    config = load(document(context={"namespace": "shop"}))
    assert config.server == "https://api:6443"
    assert config.namespace == "shop"
    assert config.source == f"context 'dev' of {tmp_path / 'config'}"


def test_the_namespace_is_default_by_default(load: Callable[..., Any]) -> None:
    assert load(document()).namespace == "default"


def test_everything_a_cluster_can_say(load: Callable[..., Any]) -> None:
    config = load(
        document(
            cluster={
                "server": "https://api:6443/prefix",
                "certificate-authority-data": encoded("PEM"),
                "tls-server-name": "other",
                "proxy-url": "http://proxy:3128",
            }
        )
    )
    assert config.server == "https://api:6443/prefix"
    assert config.ca == Material(data=b"PEM")
    assert config.tls_server_name == "other"
    assert config.proxy_url == "http://proxy:3128"


def test_paths_are_relative_to_the_file(load: Callable[..., Any], tmp_path: Path) -> None:
    config = load(
        document(
            cluster={"server": "https://api", "certificate-authority": "pki/ca.crt"},
            user={
                "client-certificate": "me.crt",
                "client-key": "/abs/me.key",
                "tokenFile": "../token",
            },
        )
    )
    assert config.ca == Material(path=str(tmp_path / "pki/ca.crt"))
    assert config.user.certificate == Material(path=str(tmp_path / "me.crt"))
    assert config.user.key == Material(path="/abs/me.key")
    assert os.path.normpath(config.user.token_file) == str(tmp_path.parent / "token")


def test_data_wins_over_files(load: Callable[..., Any]) -> None:
    config = load(
        document(
            cluster={
                "server": "https://api",
                "certificate-authority": "ca.crt",
                "certificate-authority-data": encoded("PEM"),
            }
        )
    )
    assert config.ca == Material(data=b"PEM")


def test_impersonation(load: Callable[..., Any]) -> None:
    config = load(
        document(
            user={
                "token": "t",
                "as": "jane",
                "as-uid": "u-1",
                "as-groups": ["dev", "ops"],
                "as-user-extra": {"scopes": ["a", "b"]},
            }
        )
    )
    assert config.impersonate == Impersonation(
        "jane", "u-1", ("dev", "ops"), (("scopes", ("a", "b")),)
    )


def test_an_exec_plugin(load: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text("PEM")
    config = load(
        document(
            cluster={
                "server": "https://api",
                "certificate-authority": "ca.crt",
                "tls-server-name": "other",
                "extensions": [
                    {"name": "unrelated", "extension": 1},
                    {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "a"}},
                ],
            },
            user={
                "exec": {
                    "apiVersion": EXEC_V1,
                    "command": "./bin/plugin",
                    "args": ["get-token"],
                    "env": [{"name": "A", "value": "b"}],
                    "interactiveMode": "Never",
                    "installHint": "install it",
                    "provideClusterInfo": True,
                }
            },
        )
    )
    plugin = config.user.exec
    assert plugin is not None
    assert plugin.command == str(tmp_path / "bin/plugin")
    assert plugin.args == ("get-token",)
    assert plugin.env == (("A", "b"),)
    assert plugin.interactive_mode is InteractiveMode.NEVER
    assert plugin.install_hint == "install it"
    assert plugin.cluster_info == {
        "server": "https://api",
        "tls-server-name": "other",
        "certificate-authority-data": encoded("PEM"),
        "config": {"audience": "a"},
    }


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_a_bare_plugin_is_looked_up_in_the_path(load: Callable[..., Any], version: str) -> None:
    api_version = f"client.authentication.k8s.io/{version}"
    plugin = load(document(user={"exec": {"apiVersion": api_version, "command": "aws"}})).user.exec
    assert plugin is not None
    assert (plugin.command, plugin.api_version) == ("aws", api_version)
    assert plugin.interactive_mode is InteractiveMode.IF_AVAILABLE
    assert plugin.cluster_info is None


def test_the_first_file_wins(write: Callable[..., Any], tmp_path: Path) -> None:
    one = document()
    two = document(cluster={"server": "https://other"}, user={"token": "other"})
    two["current-context"] = "prod"
    two["contexts"].append({"name": "prod", "context": {"cluster": "c2", "user": "u"}})
    two["clusters"].append({"name": "c2", "cluster": {"server": "https://prod"}})
    paths = [write(one, "one"), tmp_path / "missing", write(two, "two")]
    environ = {"KUBECONFIG": os.pathsep.join([*map(str, paths), ""])}
    assert load_config(environ=environ).server == "https://api:6443"
    assert load_config(environ=environ).user == User()
    assert load_config(context="prod", environ=environ).server == "https://prod"


def test_paths_of_merged_files_are_relative_to_their_own(
    write: Callable[..., Any], tmp_path: Path
) -> None:
    contexts = {"current-context": "dev", "contexts": document()["contexts"]}
    clusters = {
        "clusters": [
            {"name": "c", "cluster": {"server": "https://a", "certificate-authority": "ca"}}
        ]
    }
    users = {"users": [{"name": "u", "user": {"tokenFile": "token"}}]}
    parts = enumerate((contexts, clusters, users))
    paths = [write(part, f"{n}/config") for n, part in parts]
    config = load_config(environ={"KUBECONFIG": os.pathsep.join(map(str, paths))})
    assert config.ca.path == str(tmp_path / "1/ca")
    assert config.user.token_file == str(tmp_path / "2/token")


def test_the_file_in_the_home_directory(write: Callable[..., Any], tmp_path: Path) -> None:
    write(document(), ".kube/config")
    assert load_config(environ={"HOME": str(tmp_path)}).server == "https://api:6443"


def test_a_proxy_from_the_environment(load: Callable[..., Any]) -> None:
    environ = {"HTTPS_PROXY": "http://proxy:3128"}
    assert load(document(), environ=environ).proxy_url == "http://proxy:3128"


def test_nulls_as_kubectl_writes_them(load: Callable[..., Any]) -> None:
    content = document(user={"token": None}, context={"namespace": None}, preferences=None)
    assert load(content).user == User()
    message = refusal(load, {"clusters": None, "users": None, "contexts": None})
    assert "no current-context is set; choose one of: none" in message


def test_nothing_to_be_found_says_where_it_looked(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(environ={"HOME": str(tmp_path)})
    assert str(caught.value) == (
        f"no kubeconfig: {tmp_path}/.kube/config does not exist, and this process does not run in a pod; "
        "set KUBECONFIG or name a file"
    )


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            document(**dict[str, Any]({"current-context": "x"})),
            "there is no context 'x'; choose one of: dev",
        ),
        (
            document(**dict[str, Any]({"current-context": ""})),
            "no current-context is set; choose one of: dev",
        ),
        (document(context={"cluster": "x"}), "context 'dev' names cluster 'x', which no file"),
        (document(context={"user": "x"}), "context 'dev' names user 'x', which no file defines"),
        (document(cluster={"server": ""}), "server '' is not a URL; write https://host:port"),
        (document(cluster={"server": "api:6443"}), "server 'api:6443' is not a URL"),
        (document(cluster={"server": "https://[::1"}), "server 'https://[::1' is not a URL"),
        (document(cluster={"server": "https://a:b"}), "server 'https://a:b' is not a URL"),
        (document(cluster={"server": "https://joe:canary@api"}), "the server URL holds credent"),
        (
            document(cluster={"server": "https://a", "proxy-url": "socks5://canary:x@p"}),
            "SOCKS proxies are not supported",
        ),
        (
            document(cluster={"server": "https://a", "certificate-authority-data": "canary!"}),
            "cluster 'c': certificate-authority-data is not base64",
        ),
        (
            document(
                cluster={
                    "server": "https://a",
                    "certificate-authority": "x",
                    "insecure-skip-tls-verify": True,
                }
            ),
            "insecure-skip-tls-verify and a certificate authority exclude each other",
        ),
        (document(user={"client-certificate": "x"}), "a client certificate needs its key"),
        (document(user={"client-key-data": encoded("canary")}), "a client certificate needs its"),
        (document(user={"client-key-data": "canary!"}), "user 'u': client-key-data is not base64"),
        (document(user={"auth-provider": {"name": "gcp"}}), "user 'u' uses auth-provider"),
        (document(user={"token": "canary", "username": "x"}), "both a token and a password"),
        (document(user={"as-groups": ["x"]}), "needs a user; add 'as'"),
        (
            document(user={"exec": {"command": "x", "apiVersion": EXEC_V1 + "alpha1"}}),
            "exec has apiVersion 'client.authentication.k8s.io/v1alpha1'; update the plugin",
        ),
        (
            document(user={"exec": {"command": "", "apiVersion": EXEC_V1}}),
            "exec has no command",
        ),
        (document(user={"exec": {"apiVersion": EXEC_V1}}), "missing required field `command`"),
        (
            document(user={"exec": {"command": "x", "interactiveMode": "Maybe"}}),
            "Invalid enum value 'Maybe'",
        ),
        (document(user={"token": 1234}), "Expected `str`, got `int` - at `$.users[0].user.token`"),
        (document(clusters="canary"), "Expected `array`, got `str` - at `$.clusters`"),
        (document(users=document()["users"] * 2), "user 'u' is defined twice"),
        ("users: [\n  token: canary", "not valid YAML in line 3"),
        ("- a\n- b", "not a valid kubeconfig: Expected `object`, got `array`"),
        ("token: !!python/object:os.system canary", "not valid YAML in line 1"),
        ("\x00\x01\x02", "not valid YAML"),
        ("[" * 100_000, "nested deeper than 64 levels"),
        ("&a [*a]", "has YAML aliases within aliases"),
    ],
)
def test_what_cannot_work_is_refused(
    load: Callable[..., Any], tmp_path: Path, content: str | JsonObject, expected: str
) -> None:
    message = refusal(load, content)
    assert expected in message
    assert str(tmp_path / "config") in message
    assert "canary" not in message


def test_the_cause_of_a_refusal_quotes_nothing_either(load: Callable[..., Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        load("users: [\n  token: canary")
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_a_file_that_is_too_large(tmp_path: Path) -> None:
    path = tmp_path / "config"
    with path.open("wb") as file:
        file.truncate(20 * 2**20)
    with pytest.raises(ConfigError, match=f"{path}: larger than 16777216 bytes"):
        load_config(path)


def test_a_file_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot be read \(No such file or directory\)"):
        load_config(tmp_path / "missing")


@pytest.fixture
def account(tmp_path: Path) -> Path:
    for name, content in (("token", "t"), ("ca.crt", "PEM"), ("namespace", "shop\n")):
        (tmp_path / name).write_text(content)
    return tmp_path


POD = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}


def test_in_a_pod(account: Path) -> None:
    assert in_cluster(POD, account) == Config(
        "https://10.96.0.1:443",
        "shop",
        ca=Material(path=str(account / "ca.crt")),
        user=User(token_file=str(account / "token")),
        source=f"the service account in {account}",
    )


def test_in_a_pod_with_ipv6(account: Path) -> None:
    environ = POD | {"KUBERNETES_SERVICE_HOST": "fd00::1"}
    assert in_cluster(environ, account).server == "https://[fd00::1]:443"


def test_in_no_pod(account: Path) -> None:
    with pytest.raises(
        ConfigError,
        match="KUBERNETES_SERVICE_PORT are not set, so this process does not run in a pod",
    ):
        in_cluster({}, account)


def test_in_a_pod_without_a_token(account: Path) -> None:
    (account / "token").unlink()
    with pytest.raises(ConfigError, match="token does not exist; set automountServiceAccountToken"):
        in_cluster(POD, account)
