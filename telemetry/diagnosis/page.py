"""docs/diagnosis.md."""

from __future__ import annotations

from typing import Final

from telemetry.diagnosis.confidence import FAMILIES, table, unfitted
from telemetry.diagnosis.root import HARMLESS, MEANINGS, STOPS, Kind

_HEAD: Final = """\
# Diagnosis: from metrics to root causes

`fabric explain roots DIR` names what began the trouble of a run: kind, device, port and class, the first and the last
sample interval that show it, the deciding numbers, and the first act of an operator. `fabric explain DIR` begins with
the same table. It reads the metrics that `fabric serve` exports (docs/metrics.md) and the topology, and nothing else:
not the faults of the scenario, and not the event log. Frames that a fault makes vanish silently are taken out of what
their port received, because a real port does not count them.

## Order

A later step leaves out what an earlier one explains.

1. **Cables and switches** (telemetry/diagnosis/cables.py). Carrier; all cables of a switch at once; a switch that is
   sent frames and sends or receives none; speed below an earlier speed; damaged frames; frames sent less frames
   arrived. What is in flight was sent in the intervals that the way takes, and has no more bytes than a full cable
   holds: a difference beyond either is a loss. What is in flight at one sample has arrived at a later one, so the
   least difference from a sample on counts. One or two frames are lost where every later sample misses them, frames
   in flight at all of these would be improbable, and some host sent packets again.
2. **Control plane** (control.py). Sessions that left Established between devices that are alive: the device with most
   of them, unless it is one session over a cable that loses frames. EVPN routes that are missing while sessions are
   up: a VTEP whose neighbours have routes of others and none of it, from the start or later, is the root of packets
   without a route elsewhere. Moves of MAC addresses in one VNI: five, or fewer after which packets had no next hop at
   the device that counted one: the host is not where its address went. VNIs most of whose ARP requests are
   flooded. Ranks that compute longer.
3. **Losses** (losses.py). A cable on which one end sends class 3 and the other receives class 1: the switch with most
   such cables has the wrong map. Lossless losses: the port did not ask for silence meanwhile, or its peer was asked
   and was not silent, or both did as they should and headroom was too small; not from detection to restoration of a
   storm by a watchdog at either end, which then has PFC of the class off. Loss in a class that is lossless
   elsewhere. MTU. Routes.
4. **Pauses** (waits.py, queues.py). Each pause is followed, interval by interval, to what it waits for: to a host, to
   an egress queue that is not paused itself, or back to itself. Hosts: six storms at the watchdog are one
   intermittent fault; a receive buffer that held bytes is a slow receiver, an empty one a broken NIC; several ports of
   one host are one root. A host that sends no pause frames is a slow receiver, too, where its buffer held more than
   arrives in 20 us. Queues that pause others: fewer marks than XOFFs (the XOFFs of a switch are divided
   among its queues in proportion to the pauses that each causes); queues in general: CNPs that are ignored or never
   sent; else the load: use of equal-cost links, or many senders at one host.
5. **Links slower than their peers** (slow_links.py). The topology says which are: cables of a switch that have less
   than the same cables of its peers, or than the others of their ECMP group (fabric/topology/peer_rates.py). One is a
   root where a port of it is busy for 80 % of a sample interval, or marks while it is half busy, in 30 % of the time in
   which it sends. The queue before it is no root then. A tier whose switches are all alike is `oversubscription`. So
   is a switch that has fewer uplinks for its hosts than its peers; the root then names the switch and both ratios.
6. **Marking that begins too early** (early_marks.py). A queue may hold three frames, or what its link sends in a
   seventh of a round trip (Alizadeh et al., SIGCOMM 2010, section 3.3), before it marks. One whose curve marks 10 % of
   packets that find so much is a root where it marked 1 % of its packets, senders answer with CNPs, have more to send,
   and leave more than a tenth of its link idle: `ecn-wrong`, in its own words. What the idle time could have carried is
   the cost.

## Kinds

Rank 0 loses or stops traffic, 1 slows it, 2 is what a network is built for.

| kind | rank | meaning | first act |
|---|---|---|---|
"""
_TAIL: Final = """
## Incidents

Beside each root are the messages, hosts and jobs that were hurt while it lasted, the last change before it, its
runbooks and the playbook that rehearses it: in `fabric explain roots` (with `--json` as fields, with `--card text`,
`markdown` or `png` as a ticket) and on the page of `fabric report`. From there:

| question | command |
|---|---|
| what is wrong, where, since when, who was hurt | `fabric explain DIR`, `fabric explain roots DIR` |
| what the parts did meanwhile | `fabric explain pfc DIR`, `fabric explain drops DIR`, `fabric explain message DIR` |
| what changed before it | `fabric explain changes DIR` |
| which cables probes accuse | `fabric explain probes DIR`, of a run with small messages |
| the least that still shows it | `fabric explain minimal DIR`: a scenario file to send, or to try mitigations on |

**Hurt.** A message that was under way, and failed, or took more than twice the median slowdown of messages that ended
before; one that the run ended before counts with the time that it had taken. Messages that meet at the port of a host
share its rate, so each slowdown is over that of a fair share of the port of its sender or receiver: the time that a
message takes where all that have begun there are sent at equal rates. A job with a step that took more than
1.15 times the median step before.

**The change log** has what a configuration archive, an orchestrator and a syslog have: configurations that change
(`config-drift`, `route`, `route-policy`, `wrong-asn`, `drain`), hosts that move or leave, acts of a playbook and of the
API, BGP sessions, forwarding tables, carriers. The diagnosis does not read it. The change before a root is the last one
at its devices up to its first sample interval: what people did comes before what the network did, a change of routes
counts at neighbours, too, and a root in another log is no change before it (the session that went down with its cable).
That a change came before does not prove that it is the reason.

**The probe mesh** is small messages between hosts of one leaf and between leaves (`scenarios/probe-mesh.yml`). Every
probe that was lost, or late, votes for the cables on its way, in their direction; the one with the highest lower bound
of its share of bad probes is a suspect, and the probes that it explains no longer vote. The mesh finds losses that no
counter has, but not their reason; the counters of each suspect are beside it.

**The smallest scenario** is found by simulating smaller ones: without faults, entries of the workload, overlay and BGP,
with fewer switches and hosts, shorter, with fewer names in lists, with defaults in place of settings. One is kept where
the same kind of root is named at the same place and in the same class, and not without its faults. The place of a root
about equal-cost links (`oversubscription`, `polarised`, `elephants`) is their two tiers. Hosts are renamed: each is
where it was, by its leaf and its number there. The result is minimal for these reductions, one at a time.

## While a run goes on

`fabric explain http://127.0.0.1:9464` asks a run of `fabric serve` for the roots of its samples so far, by the same
rules; `fabric top` shows them above the pause trees, and `GET /api/v1/roots` gives them to programs. With them are the
last change before each root, its runbooks and its playbook. At the end of a pass the answer is that of the run
directory. Who was hurt is known then, not before. In the first samples of a pass, while queues begin to fill, a root of
the load may be named that is gone a sample later. Of a pass of more than 4,096 samples the later ones are read
([why](decisions/0158-roots-of-a-live-run-are-found-in-its-samples.md)).

## Confidence

The column `Sure` is the probability that kind, device, port and class are right. A root has a score: how often its
deciding number is the least one of its rule, in doublings, less two for each other root of rank 0 or 1 at its devices.
How often roots of a score were right was measured with tune seeds of `fabric campaign`, by view and family of kinds
(telemetry/diagnosis/confidence.json), and tried on other seeds, chips and shapes ([detection.md](detection.md)). Below
60 % a root is said to be unknown: the place, the most likely kind, and the counter that would decide.

| family | kinds |
|---|---|
{families}
## Limits

- Metrics must be on one grid of samples, as a run records them. With `--as-seen-by sonic` they are those that SONiC
  polls, at its periods in nominal time; a metric that it lacks is absent, which is not zero, so that marking, wrong
  DSCP maps, routes, sessions and MAC moves are not judged. Silent loss is then told from the least difference of many
  samples alone, because both ends of a cable are read at different times.
- Confidence is that of faults as `fabric campaign` draws them. Roots of the load have none, nor have families
  of which its tune seeds had no root: {unfitted}.
- No metric says which congestion control the hosts have. Where no queue marks and no host sends CNPs, marking is not
  judged: TIMELY and HPCC need none. Marking that begins too early is judged where senders answer with CNPs: no
  counter has DCTCP's answers. A recorded run has the curve of its end, a live one that of each moment.
- What was meant is in no metric: a drained switch is one whose sessions are down, a port that was shut a link without
  carrier. Moves of MAC addresses of a VNI are counted together, so several hosts of it that move once look like one
  that moves often.
- A silent loss is told from frames in flight from three frames on where the cable has idle intervals, else from as many
  bytes as it holds and two frames more, and is confirmed by two later samples. One or two frames are told only on
  cables that are mostly idle.
- A leaf that hangs while it carries no traffic looks like lost BGP sessions, and is named as them.
- A loss of EVPN routes has its root at the device from which all neighbours have fewer routes, while it has as many as
  before from each of them; where only one of several neighbours has fewer, the root is at that neighbour. Where the
  routes of each session are not known, the root is at the device that lost most.
- Elephants and polarisation differ by idle links and by the number of active queue pairs: no metric has flows.
"""


def page() -> str:
    """The page, with the kinds of root.py."""
    rows = (
        f"| `{kind.value}` | {0 if kind in STOPS else 2 if kind in HARMLESS else 1} | {it.title} | {it.act} |\n"
        for kind, it in MEANINGS.items()
    )
    families = "".join(
        f"| {name} | {', '.join(f'`{kind.value}`' for kind in Kind if kind in kinds)} |\n"
        for name, kinds in FAMILIES.items()
    )
    missing = "; ".join(f"{view}: {', '.join(f'`{it}`' for it in unfitted(view)) or 'none'}" for view in table().views)
    return _HEAD + "".join(rows) + _TAIL.replace("{families}", families).replace("{unfitted}", missing)
