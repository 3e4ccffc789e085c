"""The chosen settings of a study in the languages of switches and NICs.

SONiC gets a JSON patch (RFC 6902) for `config apply-patch`; NVUE, EOS and NX-OS get commands, made by the same code as
the remedies of `fabric validate`. DCQCN belongs to the NIC: parameters of the mlx5 driver, below
/sys/kernel/debug/mlx5/ADDRESS/cc_params. Names of profiles, queues and ports are those of a default configuration
(sonic-buildimage qos_config.j2, buffers_config.j2); a fabric with other names needs those.

A setting for which a language has no line is listed, and never left out silently.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from fabric.configs.capabilities import Language
from fabric.configs.model import Device, Where
from fabric.units import parse_rate_bps, parse_size_bytes, parse_time_ps
from fabric.validate.commands import field_command, marking_lines

LANGUAGES: Final[tuple[Language, ...]] = ("sonic", "nvue", "eos", "nxos")
MLX5: Final = "mlx5"
WRED: Final = "AZURE_LOSSLESS"
"""WRED profile of lossless queues in SONiC's default configuration."""
_PS_PER_US: Final = 1_000_000
_PS_PER_MS: Final = 1_000_000_000


@dataclass
class Patch:
    """Settings in one language."""

    language: str
    suffix: str = "txt"
    """Of the file that has the lines."""
    lines: list[str] = field(default_factory=list)
    """Commands; for SONiC one JSON patch."""
    missing: list[str] = field(default_factory=list)
    """Fields of the scenario for which the language has no line."""


def patches(fields: Iterable[str], resolved: Mapping[str, Any]) -> list[Patch]:
    """The settings of a scenario in every language.

    Parameters
    ----------
    fields : paths of the scenario, such as 'switches.ecn.kmin': those that a study varies
    resolved : mapping      the resolved scenario of the chosen point
    """
    wanted = list(dict.fromkeys(fields))
    of_nic = [it for it in wanted if it.startswith("transport.dcqcn.")]
    of_switch = [it for it in wanted if it.startswith("switches.")]
    rest = [it for it in wanted if it not in of_nic and it not in of_switch]
    found = []
    if of_switch:
        found += [_sonic(of_switch, resolved), *(_commands(it, of_switch, resolved) for it in LANGUAGES[1:])]
    if of_nic:
        found.append(_mlx5(of_nic, resolved))
    for it in found:
        it.missing += rest
    return found


def _at(resolved: Mapping[str, Any], path: str) -> Any:  # noqa: ANN401  a value of the scenario
    here: Any = resolved
    for step in path.split("."):
        if not isinstance(here, Mapping) or step not in here:
            return None
        here = here[step]
    return here


def _curve(resolved: Mapping[str, Any]) -> tuple[int, int, int] | None:
    """(Kmin in bytes, Kmax in bytes, Pmax in per cent)."""
    ecn = _at(resolved, "switches.ecn")
    if not isinstance(ecn, Mapping):
        return None
    pmax = max(1, round(100 * float(ecn["pmax"])))  # switches take whole per cents
    return parse_size_bytes(ecn["kmin"]), parse_size_bytes(ecn["kmax"]), pmax


def _sonic(fields: Iterable[str], resolved: Mapping[str, Any]) -> Patch:
    found = Patch("sonic", "json")
    edits: list[dict[str, str]] = []
    curve = _curve(resolved)
    profile = "/BUFFER_PROFILE/pg_lossless_SPEED_CABLE_profile"
    for path in fields:
        name = path.removeprefix("switches.")
        if name.startswith("ecn.") and curve is not None:
            kmin, kmax, pmax = curve
            values = {"green_min_threshold": kmin, "green_max_threshold": kmax, "green_drop_probability": pmax}
            edits += [_replace(f"/WRED_PROFILE/{WRED}/{key}", value) for key, value in values.items()]
        elif name in _SONIC_BUFFER:
            edits.append(_replace(f"{profile}/{_SONIC_BUFFER[name]}", _bytes(_at(resolved, path))))
        elif name in _WATCHDOG:
            edits.append(_replace(f"/PFC_WD/PORT/{_WATCHDOG[name]}", _watchdog_value(name, _at(resolved, path))))
        elif name == "watchdog.poll":
            edits.append(_replace("/PFC_WD/GLOBAL/POLL_INTERVAL", _watchdog_value(name, _at(resolved, path))))
        elif name == "shared_headroom":
            edits.append(_replace("/BUFFER_POOL/ingress_lossless_pool/xoff", _bytes(_at(resolved, path))))
        else:
            found.missing.append(path)
    distinct = list({it["path"]: it for it in edits}.values())
    if distinct:
        found.lines.append(json.dumps(distinct, indent=2))
    return found


class _NoFile:
    """A locator of no file."""

    def line(self, where: Where) -> int:  # noqa: ARG002  the protocol's
        """No line."""
        return 1


def _commands(language: Language, fields: Iterable[str], resolved: Mapping[str, Any]) -> Patch:
    found = Patch(language)
    device = Device("", "", language, _NoFile())
    curve = _curve(resolved)
    for path in fields:
        name = path.removeprefix("switches.")
        if name.startswith("ecn.") and curve is not None:
            found.lines += marking_lines(language, *curve)
        elif name in _WATCHDOG:
            line = field_command(device, (), _WATCHDOG[name], _watchdog_value(name, _at(resolved, path)))
            found.lines += [line] if line else []
            found.missing += [] if line else [path]
        else:
            found.missing.append(path)
    found.lines = list(dict.fromkeys(found.lines))
    return found


def _mlx5(fields: Iterable[str], resolved: Mapping[str, Any]) -> Patch:
    found = Patch(MLX5)
    for path in fields:
        name = path.removeprefix("transport.dcqcn.")
        value = _at(resolved, path)
        if name not in _MLX5 or value is None:
            found.missing.append(path)
            continue
        parameter, convert = _MLX5[name]
        found.lines.append(f"echo {convert(value)} > /sys/kernel/debug/mlx5/ADDRESS/cc_params/{parameter}")
    return found


def _replace(path: str, value: object) -> dict[str, str]:
    """`add` replaces a member that exists (RFC 6902 4.1), and CONFIG_DB holds text."""
    return {"op": "add", "path": path, "value": str(value)}


def _bytes(value: object) -> object:
    return parse_size_bytes(value) if isinstance(value, str) else value


def _watchdog_value(name: str, value: object) -> str:
    if name == "watchdog.action":
        return str(value)
    return str(max(1, math.ceil(parse_time_ps(value) / _PS_PER_MS)))


def _us(value: object) -> int:
    return max(1, round(parse_time_ps(value) / _PS_PER_US))


def _mbps(value: object) -> int:
    return max(1, round(parse_rate_bps(value) / 1e6))


_SONIC_BUFFER: Final = {
    "buffer.dynamic_th": "dynamic_th",
    "buffer.static_th": "static_th",
    "buffer.headroom": "xoff",
    "buffer.reserved": "size",
    "buffer.xon": "xon",
    "buffer.xon_offset": "xon_offset",
}
_WATCHDOG: Final = {
    "watchdog.detection": "detection_time",
    "watchdog.restoration": "restoration_time",
    "watchdog.action": "action",
}
_MLX5: Final[Mapping[str, tuple[str, Callable[[Any], object]]]] = {
    "increase_timer": ("rp_time_reset", _us),
    "byte_counter": ("rp_byte_reset", lambda value: 0 if value == "off" else parse_size_bytes(value)),
    "fast_recovery_steps": ("rp_threshold", int),
    "additive": ("rp_ai_rate", _mbps),
    "hyper": ("rp_hai_rate", _mbps),
    "min_rate": ("rp_min_rate", _mbps),
    "alpha_timer": ("rp_dce_tcp_rtt", _us),
    "gain": ("rp_dce_tcp_g", lambda value: round(1024 * (1 - float(value)))),
    "decrease_interval": ("rp_rate_reduce_monitor_period", _us),
    "cnp_interval": ("np_min_time_between_cnps", _us),
    "initial_alpha": ("rp_initial_alpha_value", lambda value: round(1023 * float(value))),
}
"""Field -> (parameter of drivers/infiniband/hw/mlx5/cong.c, conversion): microseconds, Mb/s, bytes; g and alpha are in
1/1024, and dce_tcp_g is the share of alpha that is kept (presets/dcqcn.py)."""
