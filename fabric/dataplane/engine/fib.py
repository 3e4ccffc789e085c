"""Routes become FIB rows: the interface between any control plane and the data plane.

`FibWriter` owns the mapping from (switch, set of ports) to ECMP group. It takes routes, either a whole EcmpTable
(shortest paths) or single edits (a control plane's), and returns State with the rows changed. Groups are only added, so
the counters of old ones stay readable. A static route hides the computed route of its row, which is kept and updated.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.engine.edits import CarrierNoticed, Edit, FibRoute, StaticRoute
from fabric.dataplane.engine.static_routes import Row, StaticRoutes
from fabric.dataplane.state.types import GROUP, MEMBER, State, rows
from fabric.topology.model import Fabric
from fabric.topology.paths import DELIVER, UNREACHABLE, EcmpTable


class FibWriter:
    """Writes next hops of switches towards hosts."""

    def __init__(self, fabric: Fabric, *, descending: bool = False) -> None:
        self._fabric = fabric
        self._descending = descending
        self._n_hosts = len(fabric.hosts)
        self._group_of: dict[tuple[int, tuple[int, ...]], int] = {}
        self._members: list[int] = []
        self._first: list[int] = []
        self._static = StaticRoutes()
        self._computed: dict[Row, int] = {}
        """Computed FIB value of every row with a static route."""

    def group(self, switch: int, ports: tuple[int, ...]) -> int:
        """FIB value (group + 1) of a switch's next-hop set; 0 for the empty set."""
        if not ports:
            return 0
        if self._descending:
            ports = tuple(sorted(ports, key=lambda port: (-self._fabric.peer_of(port).id, port)))
        key = (switch, ports)
        if key not in self._group_of:
            self._group_of[key] = len(self._first)
            self._first.append(len(self._members))
            self._members.extend(ports)
        return self._group_of[key] + 1

    def table(self, routes: EcmpTable) -> NDArray[np.uint32]:
        """FIB rows of all switches from shortest paths: (n_switches, n_hosts)."""
        by_class = routes.group_of[[switch.id for switch in self._fabric.switches]]
        used, places = np.unique(by_class, return_index=True)
        values = np.zeros(len(routes.groups) + 2, np.uint32)  # UNREACHABLE (-1) and DELIVER (-2) index the last two
        for place in np.sort(places[(used != DELIVER) & (used != UNREACHABLE)]).tolist():
            group = int(by_class.flat[place])
            switch = self._fabric.switches[place // by_class.shape[1]]
            values[group] = self.group(switch.id, tuple(int(port) for port in routes.groups[group]))
        fib = values[by_class[:, routes.class_of_host[: self._n_hosts]]]
        for (switch_id, host), ports in sorted(routes.delivery.items()):
            fib[switch_id - self._n_hosts, host] = self.group(switch_id, tuple(int(p) for p in ports))
        return fib

    def write(self, state: State, fib: NDArray[np.uint32], down: Iterable[int] = ()) -> State:
        """Put computed FIB rows of the whole fabric into State; `down`: ports that have no carrier."""
        self._static.notice(down)
        flat = np.ascontiguousarray(fib).reshape(-1)
        state = self._grown(state)._replace(fib=flat)
        for row in self._static.rows:
            self._computed[row] = int(flat[self._place(row)])
        return self._settle(state, self._static.rows)

    def edit(self, state: State, routes: Iterable[tuple[int, int, tuple[int, ...]]]) -> State:
        """Change single computed routes: (switch, host, ports); empty ports: no route."""
        for switch, host, ports in routes:
            value = self.group(switch, tuple(ports))
            if (switch, host) in self._computed:
                self._computed[switch, host] = value
                state = self._settle(state, [(switch, host)])
            else:
                state.fib[self._place((switch, host))] = value
        return self._grown(state)

    def static(self, state: State, edit: StaticRoute) -> State:
        """Begin or end a static route."""
        row = (edit.switch, edit.host)
        if not edit.ends:
            self._computed.setdefault(row, int(state.fib[self._place(row)]))
        self._follow(edit)
        state = self._settle(state, [row] if row in self._computed else [])
        if row not in self._static.rows:
            self._computed.pop(row, None)
        return state

    def notice(self, state: State, edit: CarrierNoticed) -> State:
        """Routing notices that a port has lost carrier, or has it again."""
        self._follow(edit)
        return self._settle(state, self._static.rows)

    @property
    def static_rows(self) -> tuple[Row, ...]:
        """Rows with a static route, in use or withdrawn."""
        return self._static.rows

    def is_static(self, row: Row) -> bool:
        """Whether a static route is in use."""
        return self._static.chosen(row) is not None

    def _follow(self, edit: Edit) -> None:
        if isinstance(edit, CarrierNoticed):
            self._static.notice_port(edit.port, up=edit.up)
        elif isinstance(edit, StaticRoute) and edit.ends:
            self._static.end((edit.switch, edit.host), edit.fault)
        elif isinstance(edit, StaticRoute):
            self._static.begin((edit.switch, edit.host), edit.fault, edit.ports)

    def _settle(self, state: State, changed: Iterable[Row]) -> State:
        """Write the route in use: the static route, else the computed one."""
        for row in changed:
            ports = self._static.chosen(row)
            state.fib[self._place(row)] = self._computed[row] if ports is None else self.group(row[0], ports)
        return self._grown(state)

    def _place(self, row: Row) -> int:
        return (row[0] - self._n_hosts) * self._n_hosts + row[1]

    def edit_vteps(self, state: State, routes: Iterable[tuple[int, int, tuple[int, ...]]]) -> State:
        """Change routes to addresses of VTEPs: (switch, leaf, ports); empty ports: no route."""
        n_switches = len(self._fabric.switches)
        for switch, leaf, ports in routes:
            place = (switch - self._n_hosts) * n_switches + leaf - self._n_hosts
            state.vtep_fib[place] = self.group(switch, tuple(ports))
        return self._grown(state)

    def learn(
        self, state: State, edits: Iterable[Edit], routes: Iterable[FibRoute], computed: EcmpTable, down: Iterable[int]
    ) -> None:
        """Take over the groups of a restored State, and the static routes of `edits`.

        Parameters
        ----------
        edits : the edits applied so far, in their order
        computed, down : the last shortest paths, and the ports without carrier for which they were computed
        routes : single computed routes since then
        """
        self._first = [int(first) for first in state.groups["first"]]
        self._members = [int(port) for port in state.members["port"]]
        counts = [int(count) for count in state.groups["count"]]
        self._group_of = {}
        for group, (first, count) in enumerate(zip(self._first, counts, strict=True)):
            ports = tuple(self._members[first : first + count])
            self._group_of[(int(state.ports[ports[0]]["node"]), ports)] = group
        self._static = StaticRoutes()
        self._static.notice(down)
        for edit in edits:
            self._follow(edit)
        rows_now = self._static.rows
        if rows_now:
            table = self.table(computed).reshape(-1)
            self._computed = {row: int(table[self._place(row)]) for row in rows_now}
            self._computed |= {
                (edit.switch, edit.host): self.group(edit.switch, tuple(edit.ports))
                for edit in routes
                if (edit.switch, edit.host) in self._computed
            }

    def _grown(self, state: State) -> State:
        known = len(state.groups) if self._known(state) else 0
        if known == len(self._first) > 0:
            return state
        groups, members = rows(max(len(self._first), 1), GROUP), rows(max(len(self._members), 1), MEMBER)
        groups["first"][: len(self._first)] = self._first
        groups["count"][: len(self._first)] = np.diff([*self._first, len(self._members)])
        members["port"][: len(self._members)] = self._members
        if known:
            groups["next"][:known] = state.groups["next"]
            members[: len(state.members)] = state.members
        return state._replace(groups=groups, members=members)

    @staticmethod
    def _known(state: State) -> bool:
        return bool(state.groups["count"].any())
