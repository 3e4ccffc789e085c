"""A verdict does not depend on the order of Python's sets, which differs from process to process."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

_EXAMPLE = Path(__file__).parents[2] / "docs/howto/validate-example/before"


def test_a_port_in_several_lags_and_a_vlan_reads_the_same_in_every_process(tmp_path: Path) -> None:
    shutil.copytree(_EXAMPLE, tmp_path / "configs")
    file = tmp_path / "configs/leaf1.json"
    config = json.loads(file.read_text(encoding="utf-8"))
    lags = [f"PortChannel{number}" for number in range(1, 7)]
    config["PORTCHANNEL"] = {name: {"admin_status": "up"} for name in lags}
    config["PORTCHANNEL_MEMBER"] = {f"{name}|Ethernet0": {} for name in lags}
    config["VLAN"] = {"Vlan100": {"vlanid": "100"}}
    config["VLAN_MEMBER"] = {"Vlan100|Ethernet0": {"tagging_mode": "untagged"}}
    file.write_text(json.dumps(config), encoding="utf-8")
    found = set()
    for seed in range(3):
        command = [sys.executable, "-m", "fabric", "validate", str(tmp_path / "configs"), "--json"]
        made = subprocess.run(
            command, capture_output=True, text=True, env={**os.environ, "PYTHONHASHSEED": str(seed)}, check=False
        )
        assert "its LAG has to be in the VLAN" in made.stdout
        found.add(made.stdout)
    assert len(found) == 1
