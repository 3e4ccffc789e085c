"""From UPDATEs to Adj-RIBs-In: withdraw, check, import and store the routes of every neighbour of a speaker.

The rules for one route are in importing.py. The decision process is in decision_process.py.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

from fabric.controlplane.bgp import graceful_restart, limits
from fabric.controlplane.bgp.afi import AddressFamily
from fabric.controlplane.bgp.config import PeerFamily
from fabric.controlplane.bgp.importing import Importer, Rejected
from fabric.controlplane.bgp.peer import Peer
from fabric.controlplane.bgp.rib import Path, Table
from fabric.controlplane.bgp.session import Session
from fabric.controlplane.bgp.update import Update


class AdjRibIn:
    """Adj-RIBs-In of a speaker, and the importers that its neighbours share."""

    def __init__(
        self, tables: Mapping[AddressFamily, Table], *, router_id: int, cluster_id: int, memory_bytes: int
    ) -> None:
        self._tables = tables
        self._router_id = router_id
        self._cluster_id = cluster_id
        self._memory_bytes = memory_bytes
        self._importers: dict[tuple[AddressFamily, PeerFamily, int, bool, int, bool], Importer] = {}

    def importer(self, peer: Peer, session: Session, family: AddressFamily, *, draining: bool) -> Importer:
        """The importer of the peer; peers with equal settings share one."""
        config = peer.families[family]
        first_as = peer.neighbor.remote_asn if peer.neighbor.enforce_first_as else 0
        settings = (family, config, session.local_asn, session.external, first_as, draining)
        if settings not in self._importers:
            self._importers[settings] = Importer(
                family,
                config,
                local_asn=session.local_asn,
                external=session.external,
                first_as=first_as,
                router_id=self._router_id,
                cluster_id=self._cluster_id,
                draining=draining,
                memory_bytes=self._memory_bytes,
            )
        return self._importers[settings]

    def apply(self, peer: Peer, updates: Iterable[Update], now_ns: int) -> bool:
        """Apply UPDATEs of a neighbour; True if routes have to be decided about.

        Raises BgpError (Cease) if the neighbour exceeds a limit; the session then ends, with all of its routes.
        """
        name, source = peer.neighbor.name, peer.source
        importers, tables, limited = peer.importers, self._tables, peer.limited
        changed = False
        for attributes, reach, unreach, marker, flaws in updates:
            for family, keys in unreach:
                if family in importers and tables[family].remove(name, keys):
                    changed = True
            if attributes is not None:
                for family, next_hop, blocks in reach:
                    importer = importers.get(family)
                    if importer is None:
                        continue
                    table = tables[family]
                    if next_hop == peer.local_bytes:
                        changed |= _reject(peer, table, blocks, Rejected.OWN_NEXT_HOP)
                        continue
                    for keys, payload in blocks:
                        for part, verdict in importer(attributes, keys):
                            if isinstance(verdict, Rejected):
                                peer.rejected[verdict] = peer.rejected.get(verdict, 0) + len(part)
                                changed |= table.remove(name, part)
                            else:
                                changed |= table.put(
                                    name,
                                    part,
                                    Path(
                                        source,
                                        verdict.attributes,
                                        verdict.next_hop or next_hop,
                                        payload,
                                        now_ns,
                                        verdict.weight or 0,
                                    ),
                                )
            if marker is not None:
                changed |= graceful_restart.end_of_rib(tables, peer, marker, now_ns)
            peer.flaws += len(flaws)
            if limited:
                limits.check(tables, peer, attributes)
        return changed


def _reject(peer: Peer, table: Table, blocks: Iterable[tuple[tuple[bytes, ...], Hashable]], reason: Rejected) -> bool:
    changed = False
    for keys, _ in blocks:
        peer.rejected[reason] = peer.rejected.get(reason, 0) + len(keys)
        changed |= table.remove(peer.neighbor.name, keys)
    return changed
