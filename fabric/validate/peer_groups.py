"""Where a setting of a BGP neighbour is changed: at the neighbour, or once in its peer group or template.

bgpd refuses a member's own AS number where the group has one ("Peer-group member cannot override remote-as of
peer-group", FRR bgpd/bgp_vty.c), and a setting that all members need is one line of the group.
"""

from __future__ import annotations

from collections.abc import Collection

from fabric.configs.model import Device, Session, Where
from fabric.validate.frr_fixes import in_frr


def group_to_change(
    device: Device, session: Session, setting: str, asking: Collection[Session], *, missing: bool = False
) -> Where:
    """The peer group or template whose statement has to change, or that lacks one; () where the neighbour's own does.

    Parameters
    ----------
    setting    in the words of EOS: 'remote-as'
    asking     sessions of the switch that need the same value
    missing    no line states the setting for the neighbour: one of the group serves several members
    """
    at = session.group_where
    members = [it for it in device.sessions if at and it.group_where == at]
    taking = [it for it in members if it.at(setting) != it.where]
    if not missing:
        members = taking if any(it is session for it in taking) else []
    elif taking or len(members) == 1:
        return ()
    return at if members and all(any(it is one for one in asking) for it in members) else ()


def group_of(session: Session, where: Where) -> Where:
    """The group of a session, where that has a statement rather than the neighbour; () elsewhere."""
    name = session.group_where[-1].rpartition(" ")[2].rpartition("|")[2] if session.group_where else ""
    return session.group_where if name and any(name in word.replace("|", " ").split() for word in where) else ()


def is_refused(device: Device, session: Session, setting: str) -> bool:
    """Whether the switch takes no such setting of the neighbour itself, because its group has one (FRR: remote-as)."""
    return setting == "remote-as" and session.at(setting) != session.where and in_frr(device, session.where)
