"""From kubeconfig entries to one `Config`: a context and all it refers to, checked.

`load_config` is where every program starts. It follows kubectl: an explicit kubeconfig, else
``KUBECONFIG``, else ``~/.kube/config``, else the service account of the pod we run in.
"""

import base64
import binascii
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from certwright.client.config import kubeconfig
from certwright.client.config.config import (
    Config,
    ExecPlugin,
    Impersonation,
    InteractiveMode,
    Material,
    User,
    in_cluster,
)
from certwright.client.config.kubeconfig import (
    ClusterEntry,
    ExecEntry,
    Found,
    Kubeconfig,
    UserEntry,
)
from certwright.client.errors import ConfigError
from certwright.client.http.proxy import proxy_for
from certwright.kube import JsonObject

EXEC_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
_EXEC_EXTENSION = "client.authentication.k8s.io/exec"


def load_config(
    path: str | Path | None = None,
    context: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> Config:
    """Return the configuration of this user on this machine, or of this pod.

    Raises:
        ConfigError: there is none, or it cannot work; the message says what to change.
    """
    environ = os.environ if environ is None else environ
    if path is not None:
        return resolve(kubeconfig.read([Path(path)]), context or "", environ)
    listed = [Path(entry) for entry in environ.get("KUBECONFIG", "").split(os.pathsep) if entry]
    candidates = listed or [Path(environ.get("HOME", "~")).expanduser() / ".kube" / "config"]
    files = [candidate for candidate in candidates if candidate.exists()]
    if files:
        return resolve(kubeconfig.read(files), context or "", environ)
    if "KUBERNETES_SERVICE_HOST" in environ:
        return in_cluster(environ)
    raise ConfigError(
        f"no kubeconfig: {', '.join(map(str, candidates))} does not exist, and this process does "
        "not run in a pod; set KUBECONFIG or name a file"
    )


def resolve(files: Kubeconfig, context: str, environ: Mapping[str, str]) -> Config:
    """Return the configuration of a context, by default the current; `ConfigError` if unusable."""
    shown = ", ".join(map(str, files.files))
    name = context or files.current_context
    known = ", ".join(sorted(files.contexts)) or "none"
    if not name:
        raise ConfigError(f"{shown}: no current-context is set; choose one of: {known}")
    if name not in files.contexts:
        raise ConfigError(f"{shown}: there is no context {name!r}; choose one of: {known}")
    chosen = files.contexts[name]
    where = f"{chosen.file}: context {name!r}"
    cluster_name, user_name = chosen.entry.cluster, chosen.entry.user
    if cluster_name not in files.clusters:
        raise ConfigError(
            f"{where} names cluster {cluster_name!r}, which no file defines; "
            "add it under clusters or correct the context"
        )
    if user_name and user_name not in files.users:
        raise ConfigError(
            f"{where} names user {user_name!r}, which no file defines; "
            "add it under users or correct the context"
        )
    cluster = files.clusters[cluster_name]
    user = files.users.get(user_name) or Found(chosen.file, UserEntry())
    ca = _material(
        f"{cluster.file}: cluster {cluster_name!r}: certificate-authority",
        cluster.file,
        cluster.entry.certificate_authority,
        cluster.entry.certificate_authority_data,
    )
    config = Config(
        server=cluster.entry.server,
        namespace=chosen.entry.namespace or "default",
        ca=ca,
        insecure_skip_tls_verify=cluster.entry.insecure_skip_tls_verify,
        tls_server_name=cluster.entry.tls_server_name,
        proxy_url=cluster.entry.proxy_url,
        user=_user(user, cluster.entry, ca, f"{user.file}: user {user_name!r}"),
        impersonate=Impersonation(
            user.entry.as_,
            user.entry.as_uid,
            tuple(user.entry.as_groups),
            tuple((key, tuple(values)) for key, values in user.entry.as_user_extra.items()),
        ),
        source=f"context {name!r} of {shown}",
    )
    return (
        config if config.proxy_url else replace(config, proxy_url=proxy_for(config.server, environ))
    )


def _user(user: Found[UserEntry], cluster: ClusterEntry, ca: Material, where: str) -> User:
    entry = user.entry
    if entry.auth_provider is not None:
        raise ConfigError(
            f"{where} uses auth-provider, which Kubernetes removed in 1.26; "
            "log in with the exec plugin of your provider instead"
        )
    if (entry.token or entry.token_file) and entry.username:
        raise ConfigError(f"{where} has both a token and a password; remove one of them")
    certificate = _material(
        f"{where}: client-certificate",
        user.file,
        entry.client_certificate,
        entry.client_certificate_data,
    )
    key = _material(f"{where}: client-key", user.file, entry.client_key, entry.client_key_data)
    return User(
        token=entry.token,
        token_file=_beside(user.file, entry.token_file),
        username=entry.username,
        password=entry.password,
        certificate=certificate,
        key=key,
        exec=_exec(entry.exec, user.file, cluster, ca, where) if entry.exec else None,
    )


def _exec(
    entry: ExecEntry, file: Path, cluster: ClusterEntry, ca: Material, where: str
) -> ExecPlugin:
    if entry.api_version not in EXEC_VERSIONS:
        raise ConfigError(
            f"{where}: exec has apiVersion {entry.api_version!r}; update the plugin and write "
            f"one of {', '.join(EXEC_VERSIONS)}"
        )
    if not entry.command:
        raise ConfigError(f"{where}: exec has no command; name the plugin to run")
    # A bare name is looked up in PATH, anything with a slash is a path beside the file.
    command = _beside(file, entry.command) if "/" in entry.command else entry.command
    return ExecPlugin(
        command=command,
        api_version=entry.api_version,
        args=tuple(entry.args),
        env=tuple((variable.name, variable.value) for variable in entry.env),
        interactive_mode=entry.interactive_mode or InteractiveMode.IF_AVAILABLE,
        install_hint=entry.install_hint,
        cluster_info=_cluster_info(cluster, ca, where) if entry.provide_cluster_info else None,
    )


def _cluster_info(cluster: ClusterEntry, ca: Material, where: str) -> JsonObject:
    info: JsonObject = {"server": cluster.server}
    if cluster.tls_server_name:
        info["tls-server-name"] = cluster.tls_server_name
    if cluster.insecure_skip_tls_verify:
        info["insecure-skip-tls-verify"] = True
    if ca:
        try:
            data = ca.data or Path(ca.path).read_bytes()
        except OSError as error:
            raise ConfigError(
                f"{where}: the certificate authority {ca.path} cannot be read "
                f"({error.strerror}); correct the path"
            ) from error
        info["certificate-authority-data"] = base64.b64encode(data).decode()
    if cluster.proxy_url:
        info["proxy-url"] = cluster.proxy_url
    for extension in cluster.extensions:
        if extension.name == _EXEC_EXTENSION:
            info["config"] = extension.extension
    return info


def _material(where: str, file: Path, path: str, data: str) -> Material:
    """Return PEM text or its path; text in place wins over a path, as in kubectl."""
    if data:
        try:
            return Material(data=base64.b64decode("".join(data.split()), validate=True))
        except (binascii.Error, ValueError):
            raise ConfigError(f"{where}-data is not base64; encode the PEM text again") from None
    return Material(path=_beside(file, path))


def _beside(file: Path, path: str) -> str:
    return str(file.absolute().parent / path) if path else ""
