"""Secret references in an issuer's spec: declared as types, resolved and watched.

::

    @dataclass(frozen=True)
    class Spec:
        token: SecretKey       # in YAML {name: …, key: …}; in Python the text itself
        authority: SecretData  # in YAML {name: …}; in Python all its keys and bytes

A namespaced issuer finds Secrets in its own namespace, a cluster issuer in the cluster
resource namespace, never elsewhere. When one changes, the issuer is checked again.
"""

from collections.abc import Iterator, Mapping

from msgspec import Struct


class SecretKey(str):
    """The text of one key of a Secret, without surrounding white space. Its repr tells nothing."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "SecretKey(…)"


class NoSuchKey(KeyError):
    """A Secret lacks a key. Unlike other such errors it reads as a sentence: statuses show it."""

    def __str__(self) -> str:
        return str(self.args[0])


class SecretData(Mapping[str, bytes]):
    """The keys of one Secret, as they are. Its repr tells the keys only."""

    def __init__(self, name: str, data: Mapping[str, bytes]) -> None:
        self.name = name
        self._data = dict(data)

    def __getitem__(self, key: str) -> bytes:
        try:
            return self._data[key]
        except KeyError:
            raise NoSuchKey(f'secret "{self.name}" has no key "{key}"') from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def __repr__(self) -> str:
        return f"SecretData({self.name!r}, keys={sorted(self._data)})"


class SecretKeyReference(Struct, frozen=True):
    """Where a text is found: a Secret and one of its keys."""

    name: str
    key: str


class SecretReference(Struct, frozen=True):
    """Which Secret is meant."""

    name: str
