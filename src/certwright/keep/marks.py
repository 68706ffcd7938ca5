"""How the objects of an operator are marked: a label to watch them by, and who owns each."""

from collections.abc import Collection
from dataclasses import dataclass

from certwright.apply import Declared, Owner
from certwright.kube import JsonObject, Key


@dataclass(frozen=True, slots=True)
class Marks:
    """The marks of the operator called *name*; *domain* is the prefix of their names."""

    domain: str
    name: str
    aliases: frozenset[str] = frozenset()
    """Names of other owners that hand their objects over to ours."""

    @classmethod
    def of(cls, domain: str, name: str, aliases: Collection[str] = ()) -> "Marks":
        """Return the marks of an operator."""
        return cls(domain, name, frozenset(aliases))

    @property
    def label(self) -> str:
        """The label that our objects have; its value is our name."""
        return f"{self.domain}/kept-by"

    @property
    def annotation(self) -> str:
        """The annotation that names the owner of an object."""
        return f"{self.domain}/owner"

    @property
    def origin(self) -> str:
        """The annotation that says whether we created or adopted an object."""
        return f"{self.domain}/origin"

    def owner(self, key: Key) -> Owner:
        """Return the owner of the objects of the custom resource at a key."""
        digest = f"{self.domain}/digest"
        return Owner(
            self.annotation,
            str(key),
            (digest,),
            aliases=self.aliases.__contains__,
            digest=digest,
            origin=self.origin,
            labels=(self.label,),
        )

    def declared(self, wanted: JsonObject | Declared) -> Declared:
        """Return an object with our label."""
        one = wanted if isinstance(wanted, Declared) else Declared(wanted)
        metadata: JsonObject = one.obj["metadata"]
        labels = {**(metadata.get("labels") or {}), self.label: self.name}
        return Declared({**one.obj, "metadata": {**metadata, "labels": labels}}, one.rules)

    def has(self, obj: JsonObject) -> bool:
        """Return whether an object is among ours, by its label."""
        labels = (obj.get("metadata") or {}).get("labels") or {}
        return bool(labels.get(self.label) == self.name)
