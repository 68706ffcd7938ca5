"""What an author declares, checked when the program is imported.

A function that cannot be called as the library will call it is refused at its decorator, with the
line to write, and not at the first request.
"""

import difflib
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, NoReturn, TypeVar, overload

F = TypeVar("F", bound=Callable[..., Any])


class IncompleteApp(TypeError):
    """An app lacks a function that it cannot do without; the message shows the lines to write."""


@dataclass(frozen=True, slots=True)
class Signature:
    """How the library calls a function of an author."""

    decorator: str
    """As authors write it, such as ``@app.sign``."""
    parameters: tuple[str, ...]
    line: str
    """A definition that is right."""

    def check(self, function: Callable[..., Any]) -> None:
        """Raise `TypeError` unless a function can be called like this."""
        if not callable(function):
            raise TypeError(f"{self.decorator} got {function!r}: {self._advice()}")
        try:
            takes = inspect.signature(function)
        except (TypeError, ValueError):
            return  # written in C: it says nothing about itself
        except NameError:
            return  # from Python 3.14 on: annotations that were imported for type checkers only
        try:
            takes.bind(*self.parameters)
        except TypeError as error:
            raise TypeError(
                f"{self.decorator} is called with ({', '.join(self.parameters)}), and"
                f" {_name(function)}{takes} does not take that: {self._advice()}"
            ) from error
        names = [name.lstrip("_") for name in takes.parameters]
        if len(self.parameters) > 1 and names[:2] == list(reversed(self.parameters)):
            raise TypeError(
                f"{self.decorator} is called with ({', '.join(self.parameters)}), and"
                f" {_name(function)} names them the other way round: {self._advice()}"
            )

    def refuse_missing(self, kind: str) -> NoReturn:
        """Raise `IncompleteApp`: the app of a kind was to be used without this function."""
        raise IncompleteApp(
            f"{kind}: no function is registered with {self.decorator}: {self._advice()}"
        )

    def _advice(self) -> str:
        return f"write\n\n    {self.decorator}\n    {self.line}\n"


class AuthorDecorator(Generic[F]):
    """A decorator of an app, with and without parentheses."""

    def __init__(self, signature: Signature, register: Callable[[F], None]) -> None:
        self._signature = signature
        self._register = register

    @overload
    def __call__(self, function: F, /) -> F: ...

    @overload
    def __call__(self, /) -> Callable[[F], F]: ...

    def __call__(self, function: F | None = None, /) -> F | Callable[[F], F]:
        """Register a function; without one, return what registers it."""
        return self._take if function is None else self._take(function)

    def _take(self, function: F) -> F:
        self._signature.check(function)
        self._register(function)
        return function


CHECK = Signature("@app.check", ("issuer",), "async def check(issuer: Issuer[Spec]) -> None:")
SIGN = Signature(
    "@app.sign",
    ("request", "issuer"),
    "async def sign(request: Request, issuer: Issuer[Spec]) -> Bundle:",
)
IGNORE_REQUEST = Signature(
    "@app.ignore_request", ("request",), "def ignore(request: Request) -> bool:"
)
IGNORE_ISSUER = Signature(
    "@app.ignore_issuer", ("metadata",), "def ignore(metadata: ObjectMeta) -> bool:"
)
CLASSIFY_ERROR = Signature(
    "@app.classify_error", ("error",), "def classify(error: Exception) -> SignOutcome | None:"
)
ON_STARTUP = Signature("@app.on_startup", (), "async def start() -> None:")
ON_SHUTDOWN = Signature("@app.on_shutdown", (), "async def stop() -> None:")
CHECK_METHOD = Signature("@app.issuer", ("self",), "async def check(self) -> None:")
SIGN_METHOD = Signature(
    "@app.issuer", ("self", "request"), "async def sign(self, request: Request) -> Bundle:"
)


def check_parameters(given: Iterable[str], known: Iterable[str]) -> None:
    """Raise `TypeError` for parameters that `IssuerApp` does not have, with those meant perhaps."""
    names = sorted(known)
    for name in given:
        if name in names:
            continue
        near = difflib.get_close_matches(name, names, n=1)
        advice = f"write {near[0]}=…" if near else f"it has {', '.join(names)}"
        raise TypeError(f"IssuerApp has no parameter {name}: {advice}")


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", "") or type(function).__name__
