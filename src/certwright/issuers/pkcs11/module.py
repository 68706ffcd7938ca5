"""A PKCS#11 module and its tokens: an HSM, a smart card, a cloud's key service.

A module is loaded once per process. A token knows only whether *the process* is logged in,
so there is one session per token, opened with the PIN of the issuer that uses it: a wrong PIN
is refused although another issuer has opened the token with the right one. Sessions serve one
thread at a time.
"""

import threading
from dataclasses import dataclass, field

import pkcs11
from pkcs11 import Attribute, Mechanism, ObjectClass


class HsmError(Exception):
    """The module refused or is not there. Trying again later may help."""


@dataclass(frozen=True, slots=True)
class KeyPlace:
    """Which key of which token, and the PIN that opens it."""

    token: str
    key: str
    pin: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Session:
    pin: str = field(repr=False)
    session: pkcs11.Session


class Module:
    """The shared library that speaks to the tokens; have one in a process.

    All methods wait for the module: call them in a thread.

    Raises:
        HsmError: the library cannot be loaded.
    """

    def __init__(self, library: str) -> None:
        self._lock = threading.Lock()
        self._sessions: dict[str, _Session] = {}
        try:
            self._library = pkcs11.lib(library)
        except (pkcs11.PKCS11Error, RuntimeError) as error:
            raise HsmError(f"the PKCS#11 module {library} cannot be loaded: {error}") from None

    def check(self, place: KeyPlace) -> None:
        """Make sure that the key is there; `HsmError` without token or key, or with a wrong PIN."""
        with self._lock:
            try:
                self._forget(place.token)  # a PIN may have been changed since
                self._key(place)
            except pkcs11.PKCS11Error as error:
                raise HsmError(f"the token {place.token!r} fails: {_said(error)}") from None

    def sign(self, place: KeyPlace, data: bytes, mechanism: Mechanism) -> bytes:
        """Sign; a session that the module has dropped is opened anew, once.

        Raises:
            HsmError: the module refused.
        """
        with self._lock:
            try:
                try:
                    return bytes(self._key(place).sign(data, mechanism=mechanism))
                except pkcs11.PKCS11Error:
                    self._forget(place.token)
                    return bytes(self._key(place).sign(data, mechanism=mechanism))
            except pkcs11.PKCS11Error as error:
                raise HsmError(f"the token {place.token!r} did not sign: {_said(error)}") from None

    def close(self) -> None:
        """Log out of every token."""
        with self._lock:
            for token in list(self._sessions):
                self._forget(token)

    def _key(self, place: KeyPlace) -> pkcs11.SignMixin:
        session = self._session(place)
        wanted = {Attribute.CLASS: ObjectClass.PRIVATE_KEY, Attribute.LABEL: place.key}
        found = list(session.get_objects(wanted))
        if len(found) != 1:
            raise HsmError(f"the token {place.token!r} has {len(found)} keys named {place.key!r}")
        assert isinstance(found[0], pkcs11.SignMixin)
        return found[0]

    def _session(self, place: KeyPlace) -> pkcs11.Session:
        held = self._sessions.get(place.token)
        if held is not None and held.pin == place.pin:
            return held.session
        self._forget(place.token)
        try:
            token = self._library.get_token(token_label=place.token)
            session = token.open(user_pin=place.pin)
        except pkcs11.PKCS11Error as error:
            raise HsmError(f"the token {place.token!r} does not open: {_said(error)}") from None
        self._sessions[place.token] = _Session(place.pin, session)
        return session

    def _forget(self, token: str) -> None:
        held = self._sessions.pop(token, None)
        if held is None:
            return
        try:
            held.session.close()
        except pkcs11.PKCS11Error:
            return  # the module has dropped it already


def _said(error: pkcs11.PKCS11Error) -> str:
    """Return the error of the module; most of it is in the name of the exception."""
    return f"{type(error).__name__} {error}".strip()
