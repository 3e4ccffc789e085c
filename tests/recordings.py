"""Where recorded results of other systems are: in tests/data, and what vendors publish beside the checkout."""

from __future__ import annotations

from pathlib import Path
from typing import Final

TESTS: Final = Path(__file__).resolve().parent
DATA: Final = TESTS / "data"
FRR: Final = DATA / "frr"
NS3: Final = DATA / "ns3"
NS3_CC: Final = DATA / "ns3_cc"
SONIC: Final = DATA / "sonic"

# Stock configurations and profile tables are their vendors' files. They are not copied into this repository.
VENDOR_FILES: Final = TESTS.parents[1] / "shared" / "reference" / "sonic"
