"""What names may look like, and how to make them.

The ``*_problems`` functions return what is wrong with a name, in the words the API server
uses, and an empty list when nothing is.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import sha256

LABEL_LIMIT = 63
SUBDOMAIN_LIMIT = 253

ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
"""No vowels and no look-alikes, so that no suffix spells a word or is misread."""

_QUALIFIED_LIMIT = SUBDOMAIN_LIMIT + 1 + LABEL_LIMIT
_GENERATED_LENGTH = 5
_HASH_LENGTH = 10


@dataclass(frozen=True)
class _Rule:
    """One form of name: its pattern, its greatest length, and how servers explain it."""

    pattern: str
    explanation: str
    examples: tuple[str, ...]
    limit: int = LABEL_LIMIT
    unit: str = "characters"

    def problems(self, text: str) -> list[str]:
        if len(text) <= self.limit and self.fits(text):
            return []  # what fits is ASCII: as many bytes as characters
        found = []
        length = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
        if length > self.limit:
            found.append(f"must be no more than {self.limit} {self.unit}")
        if not self.fits(text):
            found.append(self.mismatch())
        return found

    @cached_property
    def fits(self) -> Callable[[str], object]:
        """The pattern, compiled: names are checked by the thousand."""
        return re.compile(self.pattern).fullmatch

    def mismatch(self) -> str:
        examples = " or ".join(f"'{example}', " for example in self.examples)
        return f"{self.explanation} (e.g. {examples}regex used for validation is '{self.pattern}')"


_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_WORD = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_ENDS = "and must start and end with an alphanumeric character"

_DNS_LABEL = _Rule(
    _LABEL,
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-',"
    f" {_ENDS}",
    ("my-name", "123-abc"),
)
_DNS_SUBDOMAIN = _Rule(
    rf"{_LABEL}(\.{_LABEL})*",
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters,"
    f" '-' or '.', {_ENDS}",
    ("example.com",),
    limit=SUBDOMAIN_LIMIT,
)
_DNS_1035 = _Rule(
    r"[a-z]([-a-z0-9]*[a-z0-9])?",
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with"
    " an alphabetic character, and end with an alphanumeric character",
    ("my-name", "abc-123"),
)
_LOCAL_NAME = _Rule(
    _WORD,
    f"must consist of alphanumeric characters, '-', '_' or '.', {_ENDS}",
    ("MyName", "my.name", "123-abc"),
    unit="bytes",
)
_LABEL_VALUE = _Rule(
    rf"({_WORD})?",
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_'"
    f" or '.', {_ENDS}",
    ("MyValue", "my_value", "12345"),
    unit="bytes",
)


def dns_label_problems(name: str) -> list[str]:
    """Return why *name* is not a DNS-1123 label: the rule for namespaces and containers."""
    problems = _DNS_LABEL.problems(name)
    if problems and _DNS_SUBDOMAIN.fits(name) and "." in name:
        problems[-1] = "must not contain dots"
    return problems


def dns_subdomain_problems(name: str) -> list[str]:
    """Return why *name* is not a DNS-1123 subdomain: the rule for the names of most objects."""
    return _DNS_SUBDOMAIN.problems(name)


def dns1035_label_problems(name: str) -> list[str]:
    """Return why *name* is not a DNS-1035 label: the rule for Services and CRD plurals."""
    return _DNS_1035.problems(name)


def qualified_name_problems(name: str) -> list[str]:
    """Return why *name* is not ``[prefix/]name``: the rule for label and annotation keys."""
    if len(name) <= _QUALIFIED_LIMIT and _is_qualified(name):
        return []
    prefix, slash, local = name.rpartition("/")
    if "/" in prefix:
        form = "an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {_LOCAL_NAME.mismatch()} with {form}"]
    problems = []
    if slash and not prefix:
        problems.append("prefix part must be non-empty")
    elif slash:
        problems += [f"prefix part {problem}" for problem in dns_subdomain_problems(prefix)]
    if not local:
        problems.append("name part must be non-empty")
    return problems + [f"name part {problem}" for problem in _LOCAL_NAME.problems(local)]


@lru_cache(maxsize=1024)  # the same few keys are on nearly all objects
def _is_qualified(name: str) -> bool:
    prefix, slash, local = name.rpartition("/")
    return not _LOCAL_NAME.problems(local) and not (slash and dns_subdomain_problems(prefix))


def label_value_problems(value: str) -> list[str]:
    """Return why *value* cannot be the value of a label."""
    return _LABEL_VALUE.problems(value)


def hashed_name(*parts: str, limit: int = LABEL_LIMIT) -> str:
    """Derive a name from *parts*: readable first, then a hash of all of them.

    The result is a DNS-1035 label of at most *limit* (12 to 63) characters, so it fits every kind.
    Equal parts give equal names; different parts give different names even where their readable
    halves are cut, cleaned, or joined to the same text (``("a-b", "c")`` and ``("a", "b-c")``). The
    names are stored in clusters, so this function never changes.
    """
    shortest = _HASH_LENGTH + 2
    if not parts or not shortest <= limit <= LABEL_LIMIT:
        raise ValueError(
            f"a hashed name needs parts and a limit from {shortest} to {LABEL_LIMIT};"
            f" got {len(parts)} parts and the limit {limit}"
        )
    # The length of each part goes into the hash, so that moving a boundary changes it.
    identity = "".join(f"{len(part)}:{part}" for part in parts)
    number = int.from_bytes(sha256(identity.encode("utf-8", "surrogatepass")).digest())
    suffix = ""
    for _ in range(_HASH_LENGTH):
        number, digit = divmod(number, len(ALPHABET))
        suffix += ALPHABET[digit]
    readable = re.sub(r"[^a-z0-9]+", "-", "-".join(parts).lower())
    readable = re.sub(r"^[^a-z]+", "", readable)[: limit - _HASH_LENGTH - 1].rstrip("-")
    return f"{readable or 'x'}-{suffix}"


def generate_name(prefix: str, pick: Callable[[int], int]) -> str:
    """Complete a ``generateName`` prefix with five characters.

    *pick* chooses a number below its argument (``random.Random.randrange``,
    ``secrets.randbelow``): chance belongs to the caller.
    """
    suffix = "".join(ALPHABET[pick(len(ALPHABET))] for _ in range(_GENERATED_LENGTH))
    return prefix[: LABEL_LIMIT - _GENERATED_LENGTH] + suffix


_VERSION = re.compile(r"v([0-9]+)(?:(alpha|beta)([0-9]+))?")
_STABILITY = {None: 0, "beta": 1, "alpha": 2}


def version_order(version: str) -> tuple[int, int, int, str]:
    """Return by what to sort versions of an API, the best first: v2, v1, v1beta2, v1alpha1, x."""
    match = _VERSION.fullmatch(version)
    if match is None:
        return (len(_STABILITY), 0, 0, version)
    major, stability, minor = match.groups()
    return (_STABILITY[stability], -int(major), -int(minor or 0), "")
