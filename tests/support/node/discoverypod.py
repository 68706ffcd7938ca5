"""What runs in a pod of a control plane: certwright's command line, with a small schema of Envoy.

An image of the product holds the schema of the Envoy in use, and names it in a variable.
"""

import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.support.envoy.smallschema import small_descriptors

from certwright.cli.main import main

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "envoy.binpb"
        path.write_bytes(small_descriptors().SerializeToString())
        os.environ["CERTWRIGHT_XDS_SCHEMA"] = str(path)
        main()
