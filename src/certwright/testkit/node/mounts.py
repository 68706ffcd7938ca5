"""The volumes of one pod on disk: made before its containers start, then kept current."""

import shutil
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

from certwright.kube import ApiError, JsonObject, Key, parse_time
from certwright.kube.kinds import ServiceAccount
from certwright.testkit.node.pod.environment import ObjectRead, PodAddress
from certwright.testkit.node.pod.volumes import (
    ACCOUNT_FOLDER,
    FileContent,
    TokenNeed,
    VolumeError,
    container_mounts,
    pod_volumes,
    volume_files,
    volume_needs,
    volume_type,
)
from certwright.testkit.node.projection import project
from certwright.testkit.node.services import NodeServices

_TOKEN_LIFE = 0.8
"""The part of a token's life after which it is replaced."""


class PodMounts:
    """Makes the volumes of a pod and says where they are."""

    def __init__(self, services: NodeServices, folder: Path) -> None:
        self._services = services
        self._folder = folder
        self._credentials = services.api is not None
        self._tokens: dict[TokenNeed, tuple[str, datetime]] = {}

    async def mount(self, pod: JsonObject, address: PodAddress) -> None:
        """Make all volumes of a pod, or bring them up to date.

        Raises:
            VolumeError: one cannot be made; the message is the one of the event.
        """
        for volume in pod_volumes(pod, credentials=self._credentials):
            try:
                await self._make(volume, pod, address)
            except VolumeError as error:
                why = f'MountVolume.SetUp failed for volume "{volume["name"]}" : {error}'
                raise VolumeError(why) from error

    async def _make(self, volume: JsonObject, pod: JsonObject, address: PodAddress) -> None:
        folder = self._of(volume["name"])
        if volume_type(volume) == "emptyDir":
            folder.mkdir(parents=True, exist_ok=True)
            return
        files = await self._files(volume, pod, address)
        project(folder, files, self._services.clock.now())

    async def _files(
        self, volume: JsonObject, pod: JsonObject, address: PodAddress
    ) -> dict[str, FileContent]:
        needs = list(volume_needs(volume))
        reads = [need for need in needs if isinstance(need, ObjectRead)]
        objects = await self._services.read(pod["metadata"]["namespace"], reads)
        tokens = {
            need: await self._token(need, pod) for need in needs if isinstance(need, TokenNeed)
        }
        return volume_files(volume, pod, objects, tokens, address)

    async def _token(self, need: TokenNeed, pod: JsonObject) -> str:
        """Return a token bound to the pod; a new one when most of its life is over."""
        now = self._services.clock.now()
        token, renewal = self._tokens.get(need, ("", now))
        if renewal > now:
            return token
        metadata = pod["metadata"]
        account = pod["spec"].get("serviceAccountName") or "default"
        spec: JsonObject = {
            "expirationSeconds": need.seconds,
            "boundObjectRef": {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": metadata["name"],
                "uid": metadata["uid"],
            },
            "audiences": [need.audience] if need.audience else [],
        }
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        try:
            answer = await self._services.client.create_subresource(
                ServiceAccount, Key(metadata["namespace"], account), "token", body
            )
        except ApiError as error:
            raise VolumeError(f"failed to fetch token: {error}") from error
        token = str(answer["status"]["token"])
        life = parse_time(answer["status"]["expirationTimestamp"]) - now
        self._tokens[need] = (token, now + timedelta(seconds=life.total_seconds() * _TOKEN_LIFE))
        return token

    def paths(self, pod: JsonObject, container: JsonObject) -> dict[str, str]:
        """Return where the mounts of a container are on this machine, by their paths inside."""
        return dict(self._paths(pod, container))

    def _paths(self, pod: JsonObject, container: JsonObject) -> Iterator[tuple[str, str]]:
        projected = {
            volume["name"]
            for volume in pod_volumes(pod, credentials=self._credentials)
            if volume_type(volume) != "emptyDir"
        }
        for mount in container_mounts(pod, container, credentials=self._credentials):
            inside = mount["mountPath"].rstrip("/")
            source = self._of(mount["name"])
            if part := mount.get("subPath"):
                fixed = mount["name"] in projected
                source = self._part(source, part, container["name"], fixed=fixed)
            yield inside, str(source)

    def _part(self, volume: Path, part: str, container: str, *, fixed: bool) -> Path:
        """Return a part of a volume; a copy if it is projected, because such parts stay as is."""
        source = volume / part
        if not fixed:
            if not source.exists():
                source.mkdir(parents=True, exist_ok=True)
            return source
        copy = self._folder / "parts" / container / volume.name / part
        copy.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, copy, dirs_exist_ok=True)
        elif source.exists():
            shutil.copy(source, copy)
        return copy

    def token_file(self, pod: JsonObject, container: JsonObject) -> Path | None:
        """Return where the container finds its token; None if it gets none."""
        folder = self.paths(pod, container).get(ACCOUNT_FOLDER)
        return Path(folder, "token") if folder else None

    def _of(self, name: str) -> Path:
        return self._folder / "volumes" / name
