"""The readings of one host's outputs -> its settings, one `Host` for each of its NICs.

Outputs name a NIC by its interface, its RDMA device, its PCI address or a number of the vendor's tool; what belongs
together is joined here. An interface without RDMA and without settings of class, such as one for management, is left
out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from fabric.configs.hosts.capture import Mark, Nic, Said, Tclass, Vf
from fabric.configs.hosts.draft import DeviceDraft, HostDraft, NicDraft
from fabric.configs.hosts.environment import marks
from fabric.configs.model import Place
from fabric.configs.network import Host

_TRUST: Final = frozenset(("dscp", "pcp"))
_DSCPS: Final = 64
_ECN: Final = ("ecn_np_enable", "ecn_rp_enable")


def hosts_of(draft: HostDraft, base: Host) -> Host:
    """The host with `nics`; its own settings are those of its first NIC. `base`: what the hosts file says of it."""
    _name_nics(draft)
    own = tuple(marks(draft))
    nics = {nic.interface: _host(draft, nic, base, own) for nic in _ports(draft)}
    first = next(iter(nics.values()), base)
    return replace(first, nics=nics)


def _name_nics(draft: HostDraft) -> None:
    """Interfaces for PCI addresses, numbers and outputs that name none."""
    for key in [it for it in draft.nics if it[:1] in {"@", "#"} or not it]:
        name = draft.numbers.get(key) or draft.netdevs.get(draft.addresses.get(key, ""), "")
        if not name and not key:
            known = {it for it in (*draft.nics, *draft.netdevs.values()) if it and it not in draft.parents}
            name = known.pop() if len(known) == 1 else ""
        if name:
            nic = draft.nics.pop(key)
            nic.interface = name
            _join(draft, nic)


def _join(draft: HostDraft, nic: NicDraft) -> None:
    other = draft.nics.get(nic.interface)
    if other is None:
        draft.nics[nic.interface] = nic
        return
    other.tool, other.selector = nic.tool or other.tool, nic.selector or other.selector
    other.settings.update(nic.settings)
    other.priorities.update(nic.priorities)
    other.buffers.update(nic.buffers)
    other.dcqcn.update(nic.dcqcn)


def _ports(draft: HostDraft) -> Iterator[NicDraft]:
    """NICs with RDMA, without VFs; where nothing names one, one without a name for what the environment says."""
    rdma = set(draft.netdevs.values())
    found = [
        nic
        for name, nic in draft.nics.items()
        if name not in draft.parents and (nic.tool or name in rdma or any(it in nic.settings for it in _ECN))
    ]
    found += [
        NicDraft(name, _anywhere(draft))
        for name in sorted(rdma)
        if name not in draft.parents and name not in {nic.interface for nic in found}
    ]
    if not found and (draft.libraries or draft.variables or draft.devices):
        found = [NicDraft("", _anywhere(draft))]
    return iter(found)


def _anywhere(draft: HostDraft) -> Place:
    said = next(iter(draft.variables.values()), None)
    return said.place if said is not None else next(iter(draft.libraries.values()), Place(draft.name, 1))


def _host(draft: HostDraft, nic: NicDraft, base: Host, own: tuple[Mark, ...]) -> Host:
    settings: dict[str, Any] = {}
    places = dict(base.places)
    kept = draft.devices.get(_device(draft, nic))
    for name, (value, place) in {**({} if kept is None else kept.settings), **nic.settings}.items():
        if (name == "trust" and value not in _TRUST) or (
            name == "cnp_dscp" and isinstance(value, int) and value >= _DSCPS
        ):
            draft.not_understood(place, f"{name} {value}")
            continue
        settings[name], places[name] = value, place
    if base.cc is None and settings.get("ecn_rp_enable"):
        settings["cc"], places["cc"] = "dcqcn", places["ecn_rp_enable"]
    captured = Nic(
        nic.interface.lstrip("@"),
        nic.place,
        _device(draft, nic),
        nic.tool,
        nic.selector,
        nic.priorities,
        nic.buffers,
        nic.dcqcn,
        {name: _tclass(device, nic) for name, device in _devices(draft, nic)},
        _vfs(draft, nic),
        own,
    )
    return replace(base, **settings, place=nic.place, places=places, captured=captured)


def _device(draft: HostDraft, nic: NicDraft) -> str:
    """The RDMA device of an interface."""
    found = next((device for device, name in draft.netdevs.items() if name == nic.interface), "")
    return found or draft.addresses.get(nic.interface, "")


def _devices(draft: HostDraft, nic: NicDraft) -> Iterator[tuple[str, DeviceDraft]]:
    """The devices of a NIC and of its VFs; those that no output gives to an interface are of every NIC."""
    below = {name for name, parent in draft.parents.items() if parent == nic.interface} | {nic.interface}
    for name, device in draft.devices.items():
        if draft.netdevs.get(name, "") in below or (name not in draft.netdevs and _alone(draft)):
            yield name, device
    own = _device(draft, nic)
    if own and own not in draft.devices:
        yield own, DeviceDraft()


def _alone(draft: HostDraft) -> bool:
    return len([name for name in draft.nics if name not in draft.parents]) <= 1


def _tclass(device: DeviceDraft, nic: NicDraft) -> Tclass:
    known = device.known_unset or nic.tool in {"nicctl", "niccli"}  # their drivers have no override
    return Tclass(device.override, known, device.cm_default, device.gid_types)


def _vfs(draft: HostDraft, nic: NicDraft) -> tuple[Vf, ...]:
    """By the VF's own interface where sysfs has it, else by the list of the port."""
    listed: dict[int, Said | None] = {it.number: it.vlan_priority for it in draft.vfs.get(nic.interface, ())}
    names = sorted(name for name, parent in draft.parents.items() if parent == nic.interface)
    devices = {name: device for device, name in draft.netdevs.items()}
    if names:
        one = next(iter(listed.values())) if len(set(listed.values())) == 1 and listed else None
        return tuple(Vf(name, devices.get(name, ""), _own(name, listed, one)) for name in names)
    return tuple(Vf(f"vf {number}", "", said) for number, said in listed.items())


def _own(name: str, listed: dict[int, Said | None], otherwise: Said | None) -> Said | None:
    """The row of the port's list for a VF: the number at the end of its interface's name ('ens1f0v3') is its own."""
    digits = name[len(name.rstrip("0123456789")) :]
    if name.removesuffix(digits).endswith("v") and digits and int(digits) in listed:
        return listed[int(digits)]
    return otherwise
