#!/usr/bin/env python3
"""Executable statement of the rules of the public HPCC simulator: slow, sequential, exact.

On 26 deterministic cases (no ECN, or step ECN with Kmin = Kmax) it gives every flow's FCT to the nanosecond and every port's PAUSE
count of the simulator. Use it to compare an engine event by event, or on your cases:

    oracle.py CASE.json [--ties insertion|source|random:SEED]

CASE.json has the form of the files in cases/. Prints JSON: fct_ns by flow id, pauses by "node/interface", drops, events.
Equal-time events run in order of insertion (as in ns-3), by device-local source, or at random. Random ECN marking is refused.
"""
import argparse
import heapq
import json
import random
import sys
from collections import deque

MASK = 0xFFFFFFFF


def tx_ns(size_bytes: int, rate_bps: int) -> int:
    """Serialisation time as the simulator truncates it (section 0)."""
    return (int((8.0 * size_bytes / rate_bps) * 2.0**64) * 10**9) >> 64


def murmur3_32(words: list[int], seed: int) -> int:
    """MurmurHash3 x86_32 over 32-bit words (section 11.2)."""
    def rotl(x: int, r: int) -> int:
        return ((x << r) | (x >> (32 - r))) & MASK

    h = seed
    for k in words:
        k = rotl((k * 0xCC9E2D51) & MASK, 15) * 0x1B873593 & MASK
        h = (rotl(h ^ k, 13) * 5 + 0xE6546B64) & MASK
    h ^= 4 * len(words)
    h = ((h ^ (h >> 16)) * 0x85EBCA6B) & MASK
    h = ((h ^ (h >> 13)) * 0xC2B2AE35) & MASK
    return h ^ (h >> 16)


def ip(node: int) -> int:
    return 0x0B000001 + (node // 256) * 0x10000 + (node % 256) * 0x100


class Clock:
    """Event list ordered by (time, tie)."""

    def __init__(self, ties: str) -> None:
        self.heap, self.now, self.serial, self.events, self.ties = [], 0, 0, 0, ties
        if ties.startswith("random:"):
            random.seed(int(ties.split(":")[1]))

    def at(self, delay_ns: int, action, *args):
        self.serial += 1
        tie = 0
        if self.ties == "source":
            tie = source(action, args)
        elif self.ties.startswith("random"):
            tie = random.random()
        event = [(self.now + delay_ns, tie, self.serial), 0, action, args]
        heapq.heappush(self.heap, event)
        return event

    def run(self) -> None:
        while self.heap:
            event = heapq.heappop(self.heap)
            self.now = event[0][0]
            action, event[2] = event[2], None
            if action:
                self.events += 1
                action(*event[3])


def source(action, args) -> int:
    """Device-local rank of an event's source: in-link arrivals and port-free by interface, timers last."""
    if action.__name__ == "receive":
        return args[0].index * 2
    return action.__self__.index * 2 + 1 if action.__name__ == "free" else 1 << 20


def cancel(event) -> None:
    if event is not None:
        event[2] = None


class Packet:
    __slots__ = ("kind", "size", "src", "dst", "sport", "dport", "seq", "payload", "ce", "cnp", "xoff")


class Port:
    def __init__(self, clock: Clock, node, index: int, rate_bps: int, delay_ns: int) -> None:
        self.clock, self.node, self.index, self.rate, self.delay = clock, node, index, rate_bps, delay_ns
        self.busy, self.paused, self.peer = False, False, None
        self.strict, self.data = deque(), deque()
        self.ingress = self.headroom = self.egress = 0
        self.xoff_sent = False

    def send(self, packet: Packet) -> None:
        self.busy = True
        t = tx_ns(packet.size, self.rate)
        self.clock.at(t, self.free)
        self.clock.at(t + self.delay, self.peer.node.receive, self.peer, packet)

    def free(self) -> None:
        self.busy = False
        self.node.kick(self)


class Node:
    def __init__(self, run, number: int) -> None:
        self.run, self.number, self.ports = run, number, {}

    def paused_by(self, port: Port, packet: Packet) -> None:
        port.paused = bool(packet.xoff)
        if packet.xoff:
            key = f"{self.number}/{port.index}"
            self.run.pauses[key] = self.run.pauses.get(key, 0) + 1
        else:
            self.kick(port)


class Switch(Node):
    """Sections 3 and 5: admission, accounting, pause, marking, two queues per port."""

    def configure(self, case: dict) -> None:
        mmu = case["switch"]
        self.reserve, self.limit, self.xon = (mmu[k] for k in (
            "reserve_per_port_bytes", "headroom_per_port_bytes", "xon_offset_bytes"))
        self.pool = mmu["buffer_bytes"] - len(self.ports) * (self.limit + self.reserve)
        self.ecn, self.shared = mmu["ecn"], 0

    def threshold(self) -> int:
        return (self.pool - self.shared) >> 3

    def excess(self, port: Port) -> int:
        return max(port.ingress - self.reserve, 0)

    def receive(self, port: Port, packet: Packet) -> None:
        if packet.kind == "pfc":
            self.paused_by(port, packet)
            return
        hops = self.run.next_hops(self.number, packet.dst)
        choice = 0
        if len(hops) > 1:
            choice = murmur3_32([ip(packet.src), ip(packet.dst), packet.sport | (packet.dport << 16)], self.number) % len(hops)
        out = self.ports[hops[choice]]
        if packet.kind != "data" and self.run.ack_strict:
            out.strict.append((packet, None))
            self.kick(out)
            return
        size = packet.size
        if size + port.headroom > self.limit and size + self.excess(port) > self.threshold():
            self.run.drops += 1
            return
        filled = port.ingress + size
        if filled <= self.reserve:
            port.ingress = filled
        elif filled - self.reserve > self.threshold():
            port.headroom += size
        else:
            port.ingress = filled
            self.shared += min(size, filled - self.reserve)
        out.egress += size
        if not port.xoff_sent and (port.headroom > 0 or self.excess(port) >= self.threshold()):
            self.send_pfc(port, True)
        out.data.append((packet, port))
        self.kick(out)

    def send_pfc(self, port: Port, xoff: bool) -> None:
        frame = Packet()
        frame.kind, frame.size, frame.xoff = "pfc", 43, xoff
        port.strict.append((frame, None))
        self.kick(port)
        port.xoff_sent = xoff

    def kick(self, out: Port) -> None:
        if out.busy:
            return
        if out.strict:
            out.send(out.strict.popleft()[0])
            return
        if out.paused or not out.data:
            return
        packet, port = out.data.popleft()
        size = packet.size
        from_headroom = min(port.headroom, size)
        from_shared = min(size - from_headroom, self.excess(port))
        port.headroom -= from_headroom
        port.ingress -= size - from_headroom
        self.shared -= from_shared
        out.egress -= size
        if self.ecn["enabled"] and out.egress > self.ecn["kmin_bytes"]:
            if out.egress <= self.ecn["kmax_bytes"]:
                sys.exit("random marking reached: this case is not deterministic")
            packet.ce = True
        if port.xoff_sent and port.headroom == 0:
            used = self.excess(port)
            if used == 0 or used + self.xon <= self.threshold():
                # the frame waits behind the packet being sent when both use one port
                busy, out.busy = out.busy, True if port is out else out.busy
                self.send_pfc(port, False)
                out.busy = busy if port is out else out.busy
        out.send(packet)


class QueuePair:
    pass


class Host(Node):
    """Sections 6 to 8: NIC, go-back-N, DCQCN reaction point."""

    def configure(self, case: dict) -> None:
        self.acks, self.qps, self.last, self.by_key, self.received, self.wake = deque(), [], 0, {}, {}, None

    def receive(self, port: Port, packet: Packet) -> None:
        if packet.kind == "pfc":
            self.paused_by(port, packet)
        elif packet.kind == "data":
            self.receive_data(port, packet)
        else:
            self.receive_ack(port, packet)

    def receive_data(self, port: Port, packet: Packet) -> None:
        state = self.received.setdefault((packet.src, packet.sport), [0, 0, -1])   # expected, NACK timer, last NACKed
        kind, now = None, self.run.clock.now
        if packet.seq == state[0]:
            state[0] += packet.payload
            kind = "ack"
        elif packet.seq > state[0] and (now >= state[1] or state[2] != state[0]):
            state[1], state[2], kind = now + 500_000, state[0], "nack"
        if kind:
            ack = Packet()
            ack.kind, ack.size, ack.src, ack.dst, ack.sport, ack.dport = kind, 60, self.number, packet.src, packet.dport, packet.sport
            ack.seq, ack.cnp, ack.ce = state[0], packet.ce, False
            self.acks.append(ack)
            self.kick(port)

    def receive_ack(self, port: Port, packet: Packet) -> None:
        qp = self.by_key.get((packet.src, packet.dport))
        if qp is None:
            return
        qp.una = max(qp.una, packet.seq)
        if qp.una >= qp.size:
            for event in (qp.alpha_event, qp.decrease_event, qp.increase_event):
                cancel(event)
            self.run.fct[qp.id] = self.run.clock.now - qp.start
            del self.by_key[(packet.src, packet.dport)]
        if packet.kind == "nack":
            qp.nxt = qp.una
        if packet.cnp and qp.una < qp.size:
            self.on_cnp(qp)
        self.kick(port)

    def open(self, flow: dict, sport: int) -> None:
        qp, port = QueuePair(), self.ports[1]
        qp.id, qp.dst, qp.sport, qp.size = flow["id"], flow["dst"], sport, flow["size_bytes"]
        qp.una = qp.nxt = qp.stage = 0
        qp.line = qp.rate = qp.target = port.rate
        qp.alpha, qp.alpha_cnp, qp.cut_cnp, qp.first = 1.0, False, False, True
        qp.alpha_event = qp.decrease_event = qp.increase_event = None
        qp.start = qp.available = self.run.clock.now
        self.qps.append(qp)
        self.by_key[(qp.dst, sport)] = qp
        self.kick(port)

    def kick(self, port: Port) -> None:
        if port.busy:
            return
        if self.acks and not (port.paused and self.run.ack_in_data_class):
            port.send(self.acks.popleft())
            return
        now, chosen, finished = self.run.clock.now, None, None
        for i in range(1, len(self.qps) + 1):
            j = (i + self.last) % len(self.qps)
            qp = self.qps[j]
            if not port.paused and qp.nxt < qp.size:
                if qp.available <= now:
                    chosen = qp
                    break
            elif qp.una >= qp.size:
                finished = j if finished is None else min(finished, j)
        if finished is not None:
            self.qps = self.qps[:finished] + [q for q in self.qps[finished:] if q.una < q.size]
        if chosen is not None:
            self.last = self.qps.index(chosen)
            packet = Packet()
            packet.kind, packet.payload = "data", min(1000, chosen.size - chosen.nxt)
            packet.size, packet.src, packet.dst = packet.payload + 48, self.number, chosen.dst
            packet.sport, packet.dport, packet.seq, packet.ce = chosen.sport, 100, chosen.nxt, False
            chosen.nxt += packet.payload
            port.send(packet)
            chosen.available = now + tx_ns(packet.size, chosen.rate)
            return
        waits = [q.available for q in self.qps if q.nxt < q.size]
        if waits and min(waits) > now and (self.wake is None or self.wake[2] is None):
            self.wake = self.run.clock.at(min(waits) - now, self.kick, port)

    def on_cnp(self, qp: QueuePair) -> None:
        cc, at = self.run.cc, self.run.clock.at
        qp.alpha_cnp = qp.cut_cnp = True
        if qp.first:
            qp.alpha, qp.alpha_cnp, qp.first, qp.target = 1.0, False, False, qp.rate
            qp.alpha_event = at(cc["alpha_ns"], self.on_alpha, qp)
            qp.decrease_event = at(cc["decrease_ns"] + 1, self.on_decrease, qp)

    def on_alpha(self, qp: QueuePair) -> None:
        gain = self.run.cc["gain"]
        qp.alpha = (1 - gain) * qp.alpha + (gain if qp.alpha_cnp else 0.0)
        qp.alpha_cnp = False
        qp.alpha_event = self.run.clock.at(self.run.cc["alpha_ns"], self.on_alpha, qp)

    def on_decrease(self, qp: QueuePair) -> None:
        cc = self.run.cc
        qp.decrease_event = self.run.clock.at(cc["decrease_ns"], self.on_decrease, qp)
        if qp.cut_cnp:
            if cc["clamp"] or qp.stage > 0:
                qp.target = qp.rate
            qp.rate, qp.stage, qp.cut_cnp = max(cc["min_bps"], int(qp.rate * (1 - qp.alpha / 2))), 0, False
            cancel(qp.increase_event)
            qp.increase_event = self.run.clock.at(cc["increase_ns"], self.on_increase, qp)

    def on_increase(self, qp: QueuePair) -> None:
        cc = self.run.cc
        qp.increase_event = self.run.clock.at(cc["increase_ns"], self.on_increase, qp)
        if qp.stage >= cc["fast_recovery"]:
            qp.target = min(qp.target + (cc["ai_bps"] if qp.stage == cc["fast_recovery"] else cc["hai_bps"]), qp.line)
        qp.rate = int(qp.rate / 2) + int(qp.target / 2)
        qp.stage += 1


class Run:
    def __init__(self, case: dict, ties: str) -> None:
        self.clock, self.fct, self.pauses, self.drops, self.case = Clock(ties), {}, {}, 0, case
        d = case["dcqcn"]
        self.cc = {"alpha_ns": d["ALPHA_RESUME_INTERVAL_us"] * 1000, "decrease_ns": d["RATE_DECREASE_INTERVAL_us"] * 1000,
                   "increase_ns": d["RP_TIMER_us"] * 1000, "gain": d["EWMA_GAIN"], "fast_recovery": d["FAST_RECOVERY_TIMES"],
                   "ai_bps": d["RATE_AI_Mbps"] * 10**6, "hai_bps": d["RATE_HAI_Mbps"] * 10**6,
                   "min_bps": d["MIN_RATE_Mbps"] * 10**6, "clamp": d["CLAMP_TARGET_RATE"]}
        mode = case["host"]["ack_mode"]
        self.ack_strict, self.ack_in_data_class = mode == "q0", mode == "q3"
        t = case["topology"]
        switches = set(t["switch_nodes"])
        self.nodes = [(Switch if n in switches else Host)(self, n) for n in range(t["hosts"] + len(switches))]
        self.routes: dict[int, dict[int, list[int]]] = {}
        for link in t["links"]:
            a, b = (self.add_port(link[k], link) for k in ("a", "b"))
            a.peer, b.peer = b, a
        for node in self.nodes:
            node.configure(case)

    def add_port(self, node: int, link: dict) -> Port:
        ports = self.nodes[node].ports
        ports[len(ports) + 1] = port = Port(self.clock, self.nodes[node], len(ports) + 1, link["rate_bps"], link["prop_delay_ns"])
        return port

    def next_hops(self, node: int, dst: int) -> list[int]:
        """Interfaces on shortest paths to dst, next hops in descending node number (section 11.1)."""
        if dst not in self.routes:
            distance, frontier = {dst: 0}, deque([dst])
            while frontier:
                n = frontier.popleft()
                for p in self.nodes[n].ports.values():
                    m = p.peer.node.number
                    if m not in distance:
                        distance[m] = distance[n] + 1
                        if isinstance(self.nodes[m], Switch):
                            frontier.append(m)
            self.routes[dst] = {n: [i for _, i in sorted(((-p.peer.node.number, i) for i, p in self.nodes[n].ports.items()
                                                          if distance.get(p.peer.node.number, 1 << 30) == d - 1))]
                                for n, d in distance.items()}
        return self.routes[dst][node]

    def simulate(self) -> dict:
        count: dict[tuple[int, int], int] = {}
        for flow in self.case["flows"]:
            pair = (flow["src"], flow["dst"])
            k = count.get(pair, 0)
            count[pair] = k + 1
            self.clock.at(round(flow["start_s"] * 1e9), self.nodes[flow["src"]].open, flow, 10000 + k)
        self.clock.run()
        return {"fct_ns": self.fct, "pauses": self.pauses, "drops": self.drops, "events": self.clock.events}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case")
    parser.add_argument("--ties", default="insertion")
    args = parser.parse_args()
    with open(args.case) as file:
        json.dump(Run(json.load(file), args.ties).simulate(), sys.stdout)
    print()
