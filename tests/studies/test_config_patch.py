"""Patches of given configurations: applied and read again, the switches have the chosen values."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, Final

import pytest

from fabric.configs.load import load_network
from fabric.configs.model import Device
from fabric.errors import InputErrors
from fabric.studies.config_patch import ConfigPatches, config_patches, lossless_profiles, lossless_wreds, read_configs
from fabric.studies.patch import patches
from tests.recordings import SONIC

RESOLVED: Final[dict[str, Any]] = {
    "switches": {
        "ecn": {"kmin": "300KB", "kmax": "900KB", "pmax": 0.3},
        "buffer": {"dynamic_th": -1, "headroom": "90KB", "xon_offset": "20KB"},
        "watchdog": {"detection": "220ms", "restoration": "600ms", "action": "drop", "poll": "200ms"},
        "hash": {"seed": 77},
    }
}
ECN: Final = ["switches.ecn.kmin", "switches.ecn.kmax", "switches.ecn.pmax"]
OTHERS: Final = {"eos": ("eos_leaf.cfg", "leaf1.cfg"), "nxos": ("nxos_leaf.cfg", "leaf1.cfg"),
                 "nvue": ("nvue_startup.yaml", "leaf1.yaml")}  # fmt: skip
HOSTS = """default: {roce_dscp: 26, cnp_dscp: 48, pfc_enable: 3, trust: dscp, mtu: 9000, roce_mtu: 4096, cc: dcqcn,
          ecn_np_prio: 3, ecn_rp_prio: 3}
"""


def patched(folder: Path, *fields: str) -> ConfigPatches:
    return config_patches(fields, RESOLVED, read_configs(folder))


def other(language: str, folder: Path, old: str = "", new: str = "") -> Path:
    source, name = OTHERS[language]
    text = (SONIC / "other_nos" / source).read_text(encoding="utf-8")
    assert old in text
    (folder / name).write_text(text.replace(old, new) if old else text, encoding="utf-8")
    (folder / "hosts.yml").write_text(HOSTS, encoding="utf-8")
    port = "swp1" if language == "nvue" else "Ethernet1/1"
    (folder / "links.yml").write_text(f"- {{a: [leaf1, '{port}'], b: [host1, eth0], length_m: 5}}\n", encoding="utf-8")
    return folder


def curves(device: Device) -> set[tuple[int, int, int | None]]:
    found = [it.curve for it in lossless_wreds(device)]
    return {(it.min_bytes, it.max_bytes, it.pmax_percent) for it in found if it is not None}


def applied(operations: list[dict[str, Any]], tree: dict[str, Any]) -> None:
    """`add`, `replace` and `test` of RFC 6902, as `config apply-patch` carries them out."""
    for it in operations:
        *above, last = [word.replace("~1", "/").replace("~0", "~") for word in it["path"].split("/")[1:]]
        here = tree
        for word in above:
            here = here[word]
        if it["op"] == "test":
            assert here[last] == it["value"]
        else:
            assert it["op"] in {"add", "replace"}
            here[last] = it["value"]


def test_a_patch_of_sonic_applied_to_its_files_gives_the_chosen_curve_and_timers(tmp_path: Path) -> None:
    folder = tmp_path / "configs"
    shutil.copytree(SONIC / "fabric_ok", folder)
    found = patched(folder, *ECN, "switches.buffer.dynamic_th", "switches.watchdog.detection")
    assert sorted(found.files) == [f"{it}.patch.json" for it in ("leaf1", "leaf2", "spine1", "spine2")]
    assert found.missing == ()
    for name, text in found.files.items():
        file = folder / f"{name.partition('.')[0]}.json"
        tree = json.loads(file.read_text(encoding="utf-8"))
        applied(json.loads(text), tree)
        file.write_text(json.dumps(tree), encoding="utf-8")
    again = load_network([folder])
    for device in again.devices.values():
        assert curves(device) == {(300_000, 900_000, 30)}
        assert {it.dynamic_th for it in lossless_profiles(device)} == {-1}
        dogs = [port.watchdog for port in device.ports.values() if port.watchdog is not None]
        assert dogs
        assert {it.detection_ms for it in dogs} == {220}
        assert curves(found.network.devices[device.name]) == curves(device)
    assert found.new_findings == ()


@pytest.mark.parametrize("language", OTHERS)
def test_commands_of_other_languages_give_the_chosen_curve_when_they_are_read_again(
    language: str, tmp_path: Path
) -> None:
    found = patched(other(language, tmp_path), *ECN)
    assert list(found.files) == ["leaf1.commands.txt"]
    assert found.missing == ()
    assert curves(found.network.devices["leaf1"]) == {(300_000, 900_000, 30)}
    assert "300000" in found.files["leaf1.commands.txt"]


@pytest.mark.parametrize("language", ["eos", "nxos", "nvue"])
def test_the_watchdog_of_other_languages_has_the_chosen_detection_time(language: str, tmp_path: Path) -> None:
    slow = {"switches": {"watchdog": {"detection": "400ms"}}}
    found = config_patches(["switches.watchdog.detection"], slow, read_configs(other(language, tmp_path)))
    device = found.network.devices["leaf1"]
    assert {it.watchdog.detection_ms for it in device.ports.values() if it.watchdog is not None} == {400}


def test_a_headroom_that_differs_by_cable_is_named_and_not_changed() -> None:
    found = patched(SONIC / "fabric_ok", "switches.buffer.headroom", "switches.buffer.dynamic_th")
    assert all("switches.buffer.headroom: " in it and "differ by speed and cable" in it for it in found.missing)
    assert [it.partition(":")[0] for it in found.missing] == ["leaf1", "leaf2"]
    held = {name: {own.xoff_bytes for own in lossless_profiles(it)} for name, it in found.network.devices.items()}
    assert held == {  # all cables of a spine are alike
        "leaf1": {38_912, 77_824}, "leaf2": {38_912, 77_824}, "spine1": {90_000}, "spine2": {90_000}
    }  # fmt: skip
    assert all({it.dynamic_th for it in lossless_profiles(device)} == {-1} for device in found.network.devices.values())


def test_what_no_file_states_is_named_with_the_reason(tmp_path: Path) -> None:
    line = "      random-detect ecn minimum-threshold 400 kbytes maximum-threshold 1600 kbytes max-mark-probability 20"
    folder = other("eos", tmp_path, f"{line} weight 0\n", "")
    found = patched(folder, *ECN, "switches.buffer.headroom", "transport.cc", "switches.hash.seed")
    assert found.files == {}
    assert found.missing == (
        "transport.cc: is no setting of a switch",
        *(f"leaf1: {it}: no lossless queue has a marking profile" for it in ECN),
        "leaf1: switches.buffer.headroom: eos has no line for it",
        "leaf1: switches.hash.seed: eos has no line for it",
    )


def test_the_hash_seed_has_a_line_where_the_language_documents_one(tmp_path: Path) -> None:
    found = {it.language: it for it in patches(["switches.hash.seed"], RESOLVED)}
    assert found["nvue"].lines == ["nv set system forwarding hash-seed 77"]
    assert found["nxos"].lines == ["ip load-sharing address source-destination port source-destination universal-id 77"]
    (entry,) = json.loads(found["swssconfig"].lines[0])
    assert entry["SWITCH_TABLE:switch"]["ecmp_hash_seed"] == "77"
    assert (found["sonic"].lines, found["sonic"].missing) == ([], [])
    assert found["eos"].missing == ["switches.hash.seed"]
    each = {it.language: it for it in patches(["switches.hash.seed"], {"switches": {"hash": {"seed": "per-switch"}}})}
    assert all("switches.hash.seed" in it.missing for it in each.values())
    files = patched(SONIC / "fabric_ok", "switches.hash.seed").files
    assert sorted(files) == [f"{it}.swssconfig.json" for it in ("leaf1", "leaf2", "spine1", "spine2")]
    assert "hash-seed 77" in patched(other("nvue", tmp_path), "switches.hash.seed").files["leaf1.commands.txt"]


def test_the_lossless_queue_is_that_of_the_map_for_all_ports(tmp_path: Path) -> None:
    device = read_configs(other("nvue", tmp_path)).network.devices["leaf1"]
    (before,) = lossless_wreds(device)
    device.maps["pfc_to_queue"][device.global_maps["pfc_to_queue"]].entries[3] = 5
    for port in device.ports.values():
        assert "pfc_to_queue" not in port.maps
        port.queues[5] = port.queues.pop(3)
    assert lossless_wreds(device) == [before]


def test_findings_that_the_changed_files_have_are_told() -> None:
    swapped = {"switches": {"ecn": {"kmin": "900KB", "kmax": "300KB", "pmax": 0.3}}}
    found = config_patches(ECN, swapped, read_configs(SONIC / "fabric_ok"))
    assert any(it.startswith("E1 leaf1 ") for it in found.new_findings)


def test_a_folder_that_is_none_is_refused_before_the_search(tmp_path: Path) -> None:
    with pytest.raises(InputErrors):
        read_configs(tmp_path / "nowhere")
