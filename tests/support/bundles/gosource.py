"""Flags and feature gates as the Go sources of a module declare them."""

import re
import zipfile
from pathlib import Path

_FLAG = re.compile(r'\bfs\.(\w*)Var\(\s*[^",]+,\s*"([a-z0-9_-]+)"')
_TYPES = {
    "String": "s",
    "Bool": "b",
    "Int": "i",
    "Int32": "i",
    "Float32": "f",
    "Duration": "d",
    "StringSlice": "l",
    "": "m",
}
_GATE = re.compile(r'^\s*(\w+)\s+featuregate\.Feature = "(\w+)"', re.MULTILINE)
_SPEC = re.compile(
    r"^\s*(?:feature\.)?(\w+):\s*\{Default: (true|false), PreRelease: featuregate\.(\w+)",
    re.MULTILINE,
)
FLAG_FOLDERS = {
    "controller": ("cmd/controller/",),
    "cainjector": ("cmd/cainjector/",),
    "webhook": ("cmd/webhook/", "pkg/webhook/options/", "pkg/webhook/configfile/"),
}
GATE_FILES = {
    "controller": ("internal/controller/feature/features.go", "pkg/feature/features.go"),
    "cainjector": ("internal/cainjector/feature/features.go",),
    "webhook": ("internal/webhook/feature/features.go",),
}


class GoSource:
    """The Go files of a module, read from its archive."""

    def __init__(self, archive: Path, prefix: str) -> None:
        with zipfile.ZipFile(archive) as content:
            self._files = {
                name.removeprefix(prefix): content.read(name).decode()
                for name in content.namelist()
                if name.endswith(".go") and not name.endswith("_test.go")
            }

    def flags(self, component: str) -> dict[str, str]:
        """Return the types of the flags that the code of a component declares, by name."""
        found = {}
        for path, text in self._files.items():
            if path.startswith(FLAG_FOLDERS[component]):
                for kind, name in _FLAG.findall(text):
                    found[name] = _TYPES[kind]
        return found

    def gates(self, component: str) -> dict[str, tuple[str, bool]]:
        """Return stage and default of the feature gates of a component, by name."""
        text = "".join(self._files.get(path, "") for path in GATE_FILES[component])
        names = dict(_GATE.findall(text))
        return {
            names[variable]: (stage, default == "true")
            for variable, default, stage in _SPEC.findall(text)
            if variable in names
        }

    def mentions(self, text: str) -> bool:
        """Return whether any file contains a text."""
        return any(text in content for content in self._files.values())
