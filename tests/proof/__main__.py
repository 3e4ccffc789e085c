"""python -m tests.proof [--write FILE]: every broken fabric and every bound, as docs/proof.md has them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))  # its modules import each other as under pytest

from proof_page import page

parser = argparse.ArgumentParser(prog="python -m tests.proof", description=__doc__)
parser.add_argument("--write", type=Path, metavar="FILE", help="write the page to FILE instead of standard output")
arguments = parser.parse_args()
if arguments.write is None:
    sys.stdout.write(page())
else:
    arguments.write.write_text(page(), encoding="utf-8")
