"""What was ever written into the Secrets of certificates, and whether holders of it could meet."""

import asyncio
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from certwright import pki
from certwright.kube import JsonObject, Key, key_of
from certwright.pki.certificates import Certificate
from certwright.pki.chains import is_issued_by
from certwright.pki.pairs import read_pair
from certwright.testkit import EmbeddedCluster


@dataclass(frozen=True)
class Written:
    """One version of a Secret, and from when on somebody may have read it."""

    at: float
    leaf: Certificate
    bundle: tuple[Certificate, ...]


@dataclass
class SecretHistory:
    """Notes every version of every Secret that holds a certificate below an authority."""

    versions: dict[Key, list[Written]] = field(default_factory=dict)

    @classmethod
    def of(cls, cluster: EmbeddedCluster) -> "SecretHistory":
        """Note what happens in a cluster from now on."""
        history = cls()
        cluster.server.on_change(history.note)
        return history

    def note(self, _old: JsonObject | None, new: JsonObject | None) -> None:
        """Note a change."""
        if new is None or new["kind"] != "Secret":
            return
        data = {name: b64decode(value) for name, value in (new.get("data") or {}).items()}
        try:
            leaf = read_pair(data["tls.crt"], data["tls.key"]).certificate
            bundle = tuple(pki.read_bundle(data["ca.crt"]))
        except (pki.PkiError, KeyError):
            return
        at = asyncio.get_running_loop().time()
        self.versions.setdefault(key_of(new), []).append(Written(at, leaf, bundle))

    def serials(self, key: Key) -> list[int]:
        """Return the serial numbers that a Secret ever held, in their order, each once."""
        return list(dict.fromkeys(one.leaf.serial_number for one in self.versions.get(key, ())))

    def mounted(self, key: Key, lag: float, now: float) -> Written:
        """Return the version of a Secret that a volume holds which follows after a lag."""
        versions = self.versions[key]
        return next((one for one in reversed(versions) if one.at + lag <= now), versions[0])

    def strangers(self, server: Key, clients: list[Key], lag: float) -> list[str]:
        """Return which versions could meet within a lag and would not verify each other."""
        found = []
        for client in clients:
            for mine, mine_until in _held(self.versions.get(server, []), lag):
                for theirs, theirs_until in _held(self.versions.get(client, []), lag):
                    if mine.at > theirs_until or theirs.at > mine_until:
                        continue
                    if not verifies(mine, theirs) or not verifies(theirs, mine):
                        found.append(f"{server} of {mine.at:.0f} s, {client} of {theirs.at:.0f} s")
        return found

    def met(self, server: Key, clients: list[Key], lags: Mapping[Key, float]) -> list[str]:
        """Return when volumes, each behind by its lag, held what did not verify each other."""
        moments = {one.at + lag for key, lag in lags.items() for one in self.versions[key]}
        first = max(self.versions[key][0].at + lag for key, lag in lags.items())
        found = []
        for now in sorted(one for one in moments if one >= first):
            mine = self.mounted(server, lags[server], now)
            for client in clients:
                theirs = self.mounted(client, lags[client], now)
                if not verifies(mine, theirs) or not verifies(theirs, mine):
                    found.append(f"{server} and {client} at {now:.0f} s")
        return found


def _held(versions: list[Written], lag: float) -> list[tuple[Written, float]]:
    """Return each version and until when it may still be held."""
    ends = [later.at + lag for later in versions[1:]]
    return list(zip(versions, [*ends, float("inf")], strict=True))


def verifies(verifier: Written, shown: Written) -> bool:
    """Return whether who holds one version trusts the certificate of another."""
    return any(_signed(shown.leaf, one) for one in verifier.bundle)


@lru_cache(maxsize=4096)
def _signed(leaf: Certificate, authority: Certificate) -> bool:
    return is_issued_by(leaf, authority)
