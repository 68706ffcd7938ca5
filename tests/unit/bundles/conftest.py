from pathlib import Path

import pytest
from tests.support.bundles.tools import Tools


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tools:
    """Programs of the test's own; those of this machine are out of sight."""
    # Tools are also searched beside the Python that runs.
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    return Tools(tmp_path / "tools")
