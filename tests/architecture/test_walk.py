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
walked = {}
for name, (_, journey) in JOURNEYS.items():
    tracer = Tracer()
    asyncio.run(journey(tracer))
    walked[name] = drawn_rooms(tracer.record)
print(json.dumps(walked))
"""


@pytest.mark.timeout(300)
def test_the_pictures_show_every_room_of_their_journey(root: Path) -> None:
    command = [sys.executable, "-c", WALK]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for name, rooms in json.loads(done.stdout).items():
        assert len(rooms) > 5
        missing = set(rooms) - pictured_rooms(name)
        assert not missing, f"run make walk: the picture of {name} lacks {sorted(missing)}"


@pytest.mark.parametrize("name", JOURNEYS)
def test_the_rooms_of_the_picture_exist(root: Path, name: str) -> None:
    gone = {room for room in pictured_rooms(name) if not (root / "src/certwright" / room).is_dir()}
    assert not gone, f"run make walk: the picture of {name} shows {sorted(gone)}"
