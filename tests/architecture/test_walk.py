"""The pictures of journeys on the architecture page are drawn by ``make walk``, and current."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.walk.journeys import JOURNEYS
from tests.walk.page import pictured_rooms

WALK = """
import asyncio, json, sys
from certwright.runtime import configure_logs
from tests.walk.journeys import JOURNEYS
from tests.walk.report import drawn_rooms
from tests.walk.tracer import Tracer

configure_logs(level="critical")
most, walked = json.loads(sys.argv[1]), {}
for name, (_, journey) in JOURNEYS.items():
    records, files = [], []
    while len(records) < 3 or (len(files) > most[name] and len(records) < 9):
        tracer = Tracer()
        asyncio.run(journey(tracer))
        records.append(tracer.record)
        files = [file for file in records[0].files if all(file in each.files for each in records)]
    walked[name] = drawn_rooms(records[0]), files, [*records[0].decodes]
print(json.dumps(walked))
"""


MOST_FILES = {"managed-resource": 75, "certificate-request": 50, "kubectl-apply": 58}
"""More are hard to follow."""
BY_CHANCE = {"keep/drift.py", "client/discovery.py", "client/http/dialer.py", "client/writer.py"}
"""Touched if a connection is dialled meanwhile, or a watch tells of a write before the end. What
else happens by chance, as on a busy machine, is not touched each time of three, or of nine."""


@pytest.fixture(scope="module")
def walked(root: Path) -> dict[str, tuple[list[str], list[str], list[str]]]:
    """The rooms, files and decodes of each journey."""
    command = [sys.executable, "-c", WALK, json.dumps(MOST_FILES)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, tuple[list[str], list[str], list[str]]] = json.loads(done.stdout)
    return found


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", JOURNEYS)
def test_the_picture_shows_every_room_of_the_journey(
    walked: dict[str, tuple[list[str], list[str], list[str]]], name: str
) -> None:
    rooms, files, decodes = walked[name]
    assert len(rooms) > 5
    missing = set(rooms) - pictured_rooms(name)
    assert not missing, f"run make walk: the picture of {name} lacks {sorted(missing)}"
    assert len(set(files) - BY_CHANCE) <= MOST_FILES[name], "\n".join(files)
    assert len(decodes) <= 1, f"decode the request in one place: {decodes}"


@pytest.mark.parametrize("name", JOURNEYS)
def test_the_rooms_of_the_picture_exist(root: Path, name: str) -> None:
    gone = {room for room in pictured_rooms(name) if not (root / "src/certwright" / room).is_dir()}
    assert not gone, f"run make walk: the picture of {name} shows {sorted(gone)}"
