"""The pictures on the architecture page, between markers that name their journey."""

import re
from collections.abc import Iterable
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/concepts/architecture.md"


def update(name: str, picture: Iterable[str]) -> None:
    """Replace the picture of a journey."""
    text = PAGE.read_text("utf-8")
    drawn = "\n".join(picture)
    new, count = _between(name).subn(lambda found: f"{found[1]}{drawn}\n{found[3]}", text)
    if count != 1:
        raise LookupError(f"{PAGE} needs the markers <!-- walk: {name} --> and <!-- end -->")
    PAGE.write_text(new, "utf-8")


def pictured_rooms(name: str) -> set[str]:
    """Return the rooms that the picture of a journey shows."""
    found = _between(name).search(PAGE.read_text("utf-8"))
    return set(re.findall(r'\["\d+ ([^"]+)"\]', found[2])) if found else set()


def _between(name: str) -> re.Pattern[str]:
    return re.compile(rf"(<!-- walk: {name} -->\n)(.*?)(<!-- end -->)", re.DOTALL)
