"""The decision process of a speaker (RFC 4271 section 9.1): when it runs, over which routes, and what it reports.

- It runs `update_delay_ns` after the first change of a route, over every route that has changed by then.
- IPv4 unicast comes first. Its changes can change next hops of the tracked families; their routes are decided again
  after `resolve_delay_ns` (next hop tracking).
- For the families of `report_received`, the best received path is also reported at once (received.py).

The choice among the paths of one route is in decision.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fabric.controlplane.bgp.actions import Action, Change, RoutesChanged, RoutesReceived
from fabric.controlplane.bgp.afi import IPV4_UNICAST, AddressFamily
from fabric.controlplane.bgp.cause import Cause
from fabric.controlplane.bgp.config import SpeakerConfig
from fabric.controlplane.bgp.decision import Metric, Preferences, decide
from fabric.controlplane.bgp.distribution import Distributor
from fabric.controlplane.bgp.export import UpdateGroup
from fabric.controlplane.bgp.next_hops import NextHops
from fabric.controlplane.bgp.received import best_received_changes
from fabric.controlplane.bgp.rib import Table
from fabric.controlplane.bgp.timers import Timer, Timers


class DecisionProcess:
    """Schedules and runs the decision process; appends what changed to the `actions` of the speaker."""

    def __init__(
        self,
        config: SpeakerConfig,
        tables: Mapping[AddressFamily, Table],
        timers: Timers,
        cause: Cause,
        distributor: Distributor,
        actions: list[Action],
    ) -> None:
        self._config = config
        self._tables = tables
        self._timers = timers
        self._cause = cause
        self._distributor = distributor
        self._actions = actions
        self._next_hops = NextHops(tables[IPV4_UNICAST])
        self._next_hops.set_interior(dict.fromkeys(config.connected, 0))
        self._decision_timer = Timer(self._run)
        self._resolve_timer = Timer(self._resolve)
        self._unresolved: dict[bytes, int] = {}
        """Changed IPv4 routes over which next hops are resolved again when that timer expires -> cause (cause.py)."""
        self._preferences: dict[AddressFamily, Preferences] = {}

    def schedule(self, now_ns: int) -> None:
        """Run after the update delay, if no run is scheduled yet."""
        if self._decision_timer.deadline_ns is None:
            self._timers.set(self._decision_timer, now_ns + self._config.update_delay_ns)

    @property
    def waiting(self) -> tuple[int, int] | None:
        """When the next run is due, and the cause that scheduled it; None: none is."""
        due_ns = self._decision_timer.deadline_ns
        return None if due_ns is None else (due_ns, self._decision_timer.cause)

    def run_due(self, now_ns: int) -> None:
        """The end of every call of the speaker: report received routes, and run at once if the run is due."""
        self._report_received()
        due_ns = self._decision_timer.deadline_ns
        if due_ns is not None and due_ns <= now_ns:
            self._timers.stop(self._decision_timer)
            self._run(now_ns)
            self._report_received()

    def set_interior(self, metrics: Mapping[str, int | None], now_ns: int) -> None:
        """Change non-BGP routes that next hops resolve over: prefix -> metric, None removes one."""
        self._recheck(self._next_hops.set_interior(metrics), now_ns)

    def preferences(self, family: AddressFamily) -> Preferences:
        """The configuration of the decision process for a family."""
        found = self._preferences.get(family)
        if found is None:
            config = self._config
            found = self._preferences[family] = Preferences(
                config.max_paths.get(family, 1),
                config.multipath_relax,
                config.compare_router_id,
                config.always_compare_med,
                config.default_local_pref,
                family.rank,
            )
        return found

    def metric(self, family: AddressFamily) -> Metric:
        """Metric of next hops of a family; None if every next hop counts as reachable."""
        return self._next_hops.metric if family in self._config.tracked_families else None

    def _run(self, now_ns: int) -> None:
        # IPv4 unicast first: the next hops of the others resolve over it.
        for family in (IPV4_UNICAST, *(family for family in self._tables if family is not IPV4_UNICAST)):
            table = self._tables[family]
            followers = self._distributor.followers(table)
            changes = select(table, followers, self.preferences(family), self.metric(family), now_ns)
            if changes:
                self._actions.append(RoutesChanged(family, tuple(changes)))
                if family is IPV4_UNICAST:
                    self._cause.now = max(change.cause for change in changes)
                    self._resolve_later(changes, now_ns)
        self._timers.stop(self._decision_timer)
        self._distributor.flush_all(now_ns)

    def _resolve_later(self, changes: Sequence[Change], now_ns: int) -> None:
        """FRR resolves next hops over routes installed in zebra, which reports changes (next hop tracking)."""
        keys = (key for change in changes for key in change.keys)
        if not self._config.resolve_delay_ns:
            self._recheck(self._next_hops.changed(keys), now_ns)
        elif self._config.tracked_families:
            self._unresolved.update(dict.fromkeys(keys, self._cause.now))
            if self._resolve_timer.deadline_ns is None:
                self._timers.set(self._resolve_timer, now_ns + self._config.resolve_delay_ns)

    def _resolve(self, now_ns: int) -> None:
        keys, self._unresolved = self._unresolved, {}
        self._cause.now = max(keys.values())
        self._recheck(self._next_hops.changed(keys), now_ns)

    def _recheck(self, next_hops: Mapping[bytes, None], now_ns: int) -> None:
        """Decide again about the routes that use next hops whose metric changed."""
        if not next_hops:
            return
        for family in self._config.tracked_families:
            if (table := self._tables.get(family)) is None:
                continue
            for group in table.groups:
                if any(path.next_hop in next_hops for path in group.paths.values()):
                    table.dirty[group] = self._cause.now
                    if table.reports_received:
                        table.fresh[group] = self._cause.now
        self.schedule(now_ns)

    def _report_received(self) -> None:
        for family in self._config.report_received:
            table = self._tables[family]
            if table.fresh:
                changes = best_received_changes(table, self.preferences(family), self.metric(family))
                if changes:
                    self._actions.append(RoutesReceived(family, tuple(changes)))


def select(
    table: Table, followers: Sequence[UpdateGroup], preferences: Preferences, metric: Metric, now_ns: int
) -> list[Change]:
    """Decide about every dirty group of `table`; a changed best path becomes pending in the `followers`."""
    changes = []
    dirty = list(table.dirty.items())
    table.dirty.clear()
    for group, cause in dirty:
        old = group.selection
        group.incumbent = table.older.pop(group, None if old is None else old.best)
        new = decide(tuple(group.paths.values()), preferences, group.incumbent, metric).selection
        group.selection = new
        if not group.paths:
            table.empty[group] = cause
        if new is old or (new is not None and new.same(old)):
            continue
        table.version += 1
        group.version, group.changed_ns = table.version, now_ns
        changes.append(Change(group.keys, old, new, cause))
        if old is None or new is None or not old.best.same(new.best):
            for follower in followers:
                follower.pending[group] = cause
    return changes
