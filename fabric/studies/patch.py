"""The chosen settings of a study in the languages of switches and NICs.

SONiC gets a JSON patch (RFC 6902) for `config apply-patch`; NVUE, EOS and NX-OS get commands, made by the same code as
the remedies of `fabric validate`; SONiC's hash seed is no part of CONFIG_DB, and gets a file for
`swssconfig`. DCQCN belongs to the NIC: parameters of the mlx5 driver, below /sys/kernel/debug/mlx5/ADDRESS/cc_params.
Names of profiles, queues and ports are those of a default configuration (sonic-buildimage qos_config.j2,
buffers_config.j2). Patches of given configurations, with their names, are made in config_patch.py.

A setting for which a language has no line is listed, and never left out silently.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from fabric.configs.capabilities import CAPABILITIES, Language
from fabric.configs.model import Device, Where
from fabric.units import parse_rate_bps, parse_size_bytes, parse_time_ps
from fabric.validate.commands import field_command, marking_lines

LANGUAGES: Final[tuple[Language, ...]] = ("sonic", "nvue", "eos", "nxos")
MLX5: Final = "mlx5"
SWSS: Final = "swssconfig"
WRED: Final = "AZURE_LOSSLESS"
"""WRED profile of lossless queues in SONiC's default configuration."""
_PS_PER_US: Final = 1_000_000
_PS_PER_MS: Final = 1_000_000_000
WATCHDOG_ROUNDING: Final = 0.1
"""Largest share by which a time of the watchdog may be rounded up: another one would be another setting."""


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
        if "switches.hash.seed" in of_switch and (seed := seed_of(resolved)) is not None:
            found.append(Patch(SWSS, "json", [seed_file(seed)]))
    if of_nic:
        found.append(_mlx5(of_nic, resolved))
    for it in found:
        it.missing += rest
    return found


def value_at(resolved: Mapping[str, Any], path: str) -> Any:  # noqa: ANN401  a value of the scenario
    """The value of a field of a resolved scenario; None where it has none."""
    here: Any = resolved
    for step in path.split("."):
        if not isinstance(here, Mapping) or step not in here:
            return None
        here = here[step]
    return here


def curve_of(resolved: Mapping[str, Any]) -> tuple[int, int, int] | None:
    """(Kmin in bytes, Kmax in bytes, Pmax in per cent)."""
    ecn = value_at(resolved, "switches.ecn")
    if not isinstance(ecn, Mapping):
        return None
    pmax = max(1, round(100 * float(ecn["pmax"])))  # switches take whole per cents
    return parse_size_bytes(ecn["kmin"]), parse_size_bytes(ecn["kmax"]), pmax


def _sonic(fields: Iterable[str], resolved: Mapping[str, Any]) -> Patch:
    found = Patch("sonic", "json")
    edits: list[dict[str, str]] = []
    curve = curve_of(resolved)
    profile = "/BUFFER_PROFILE/pg_lossless_SPEED_CABLE_profile"
    for path in fields:
        name = path.removeprefix("switches.")
        if name.startswith("ecn.") and curve is not None:
            kmin, kmax, pmax = curve
            values = {"green_min_threshold": kmin, "green_max_threshold": kmax, "green_drop_probability": pmax}
            edits += [_replace(f"/WRED_PROFILE/{WRED}/{key}", value) for key, value in values.items()]
        elif name in SONIC_BUFFER:
            edits.append(_replace(f"{profile}/{SONIC_BUFFER[name]}", in_bytes(value_at(resolved, path))))
        elif name in SONIC_WATCHDOG and (taken := watchdog_value(name, value_at(resolved, path))) is not None:
            edits.append(_replace(SONIC_WATCHDOG[name], taken))
        elif name == "hash.seed" and seed_of(resolved) is not None:
            continue  # in a file of its own
        elif name == "shared_headroom":
            edits.append(_replace("/BUFFER_POOL/ingress_lossless_pool/xoff", in_bytes(value_at(resolved, path))))
        else:
            found.missing.append(path)
    distinct = list({it["path"]: it for it in edits}.values())
    if distinct:
        found.lines.append(json.dumps(distinct, indent=2))
    return found


def seed_of(resolved: Mapping[str, Any]) -> int | None:
    """The seed of the ECMP hash that all switches get; None where each has its own."""
    seed = value_at(resolved, "switches.hash.seed")
    return seed if isinstance(seed, int) and not isinstance(seed, bool) else None


def seed_file(seed: int) -> str:
    """The seeds of a SONiC switch, which are not in CONFIG_DB: a file for `swssconfig` in the container swss.

    Source: sonic-buildimage, dockers/docker-orchagent/switch.json.j2.
    """
    fields = {"ecmp_hash_seed": str(seed), "lag_hash_seed": str(seed)}
    return json.dumps([{"SWITCH_TABLE:switch": fields, "OP": "SET"}], indent=2)


def seed_command(language: Language, seed: int) -> str:
    """The command that sets the seed of the ECMP hash; '' where the language has none, or none for this seed."""
    known = CAPABILITIES[language]
    return known.hash_seed_command.format(seed=seed) if seed >= known.least_hash_seed else ""


class _NoFile:
    """A locator of no file."""

    def line(self, where: Where) -> int:  # noqa: ARG002  the protocol's
        """No line."""
        return 1


def _commands(language: Language, fields: Iterable[str], resolved: Mapping[str, Any]) -> Patch:
    found = Patch(language)
    device = Device("", "", language, _NoFile())
    curve = curve_of(resolved)
    for path in fields:
        name = path.removeprefix("switches.")
        if name.startswith("ecn.") and curve is not None:
            found.lines += marking_lines(language, *curve)
        elif name in WATCHDOG:
            taken = watchdog_value(name, value_at(resolved, path))
            line = field_command(device, (), WATCHDOG[name], taken) if taken is not None else ""
            found.lines += [line] if line else []
            found.missing += [] if line else [path]
        elif name == "hash.seed" and (seed := seed_of(resolved)) is not None and seed_command(language, seed):
            found.lines.append(seed_command(language, seed))
        else:
            found.missing.append(path)
    found.lines = list(dict.fromkeys(found.lines))
    return found


def _mlx5(fields: Iterable[str], resolved: Mapping[str, Any]) -> Patch:
    found = Patch(MLX5)
    for path in fields:
        name = path.removeprefix("transport.dcqcn.")
        value = value_at(resolved, path)
        if name not in _MLX5 or value is None:
            found.missing.append(path)
            continue
        parameter, convert = _MLX5[name]
        found.lines.append(f"echo {convert(value)} > /sys/kernel/debug/mlx5/ADDRESS/cc_params/{parameter}")
    return found


def _replace(path: str, value: object) -> dict[str, str]:
    """`add` replaces a member that exists (RFC 6902 4.1), and CONFIG_DB holds text."""
    return {"op": "add", "path": path, "value": str(value)}


def in_bytes(value: object) -> object:
    """A size as CONFIG_DB has it; what is no size stays."""
    return parse_size_bytes(value) if isinstance(value, str) else value


def watchdog_value(name: str, value: object) -> str | None:
    """A setting of the watchdog as switches take it: the action, or whole milliseconds, rounded up.

    None: the time is so short that rounding would change it by more than WATCHDOG_ROUNDING.
    """
    if name == "watchdog.action":
        return str(value)
    wanted = parse_time_ps(value) / _PS_PER_MS
    taken = math.ceil(wanted)
    return str(taken) if taken <= wanted * (1 + WATCHDOG_ROUNDING) else None


def _us(value: object) -> int:
    return max(1, round(parse_time_ps(value) / _PS_PER_US))


def _mbps(value: object) -> int:
    return max(1, round(parse_rate_bps(value) / 1e6))


SONIC_BUFFER: Final = {
    "buffer.dynamic_th": "dynamic_th",
    "buffer.static_th": "static_th",
    "buffer.headroom": "xoff",
    "buffer.reserved": "size",
    "buffer.xon": "xon",
    "buffer.xon_offset": "xon_offset",
}
WATCHDOG: Final = {
    "watchdog.detection": "detection_time",
    "watchdog.restoration": "restoration_time",
    "watchdog.action": "action",
}
SONIC_WATCHDOG: Final = {
    **{name: f"/PFC_WD/PORT/{field}" for name, field in WATCHDOG.items()},
    "watchdog.poll": "/PFC_WD/GLOBAL/POLL_INTERVAL",
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
