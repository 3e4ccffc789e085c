"""Network namespaces with what is plugged into them: veth cables, bridges, VXLAN devices. Made by netlink (pyroute2).

Everything belongs to one `Namespaces` and goes with it: a namespace takes its devices along. Names begin with a prefix
of ours, and nothing else is ever touched. Needs Linux and root.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Self

from fabric.errors import FabricError, InputErrors, Problem

RUN_NETNS: Final = Path("/run/netns")
_CLONE_NEWNET: Final = 0x40000000
_NAME_LIMIT: Final = 15
"""Longest interface name, IFNAMSIZ - 1."""


def laboratory_problems(programs: Sequence[str] = ()) -> list[Problem]:
    """What is missing here for a laboratory of namespaces; `programs` are names on PATH, or whole paths."""
    problems = []
    if sys.platform != "linux":
        problems.append(Problem("system", f"{sys.platform} has no network namespaces", "use Linux"))
    elif os.geteuid() != 0:
        problems.append(Problem("system", "network namespaces need root", "run it with sudo"))
    problems += [Problem(program, "is not installed", "Debian and Ubuntu: apt install frr iproute2 util-linux")
                 for program in programs if shutil.which(program) is None]
    return problems


def require(programs: Sequence[str] = ()) -> None:
    """Raise InputErrors with everything that is missing."""
    problems = laboratory_problems(programs)
    if problems:
        raise InputErrors("laboratory", problems)


def has_vrf() -> bool:
    """Whether this kernel has VRF devices; tried in a namespace that is gone then."""
    if laboratory_problems():
        return False
    from pyroute2 import NetlinkError  # noqa: PLC0415

    with Namespaces(f"fabric-probe-{os.getpid()}") as spaces:
        try:
            spaces.add("vrf").add("vrf0", "vrf", vrf_table=10)
        except NetlinkError:
            return False
    return True


class Namespace:
    """One namespace, entered by netlink. Interfaces are named within it."""

    def __init__(self, name: str) -> None:
        from pyroute2 import NetNS  # noqa: PLC0415  takes a while, and only laboratories need it

        self.name = name
        self._netlink = NetNS(name)
        self.up("lo")

    def index(self, interface: str) -> int:
        """Number of an interface. Raises FabricError where there is none."""
        found = self._netlink.link_lookup(ifname=interface)
        if not found:
            raise FabricError(f"{self.name} has no interface {interface}")
        return int(found[0])

    def add(self, interface: str, kind: str, **options: Any) -> None:  # noqa: ANN401  attributes of the kind
        """`ip link add INTERFACE type KIND OPTIONS`."""
        if len(interface) > _NAME_LIMIT:
            raise FabricError(f"{interface} is too long a name for an interface", f"at most {_NAME_LIMIT} characters")
        self._netlink.link("add", ifname=interface, kind=kind, **options)

    def delete(self, interface: str) -> None:
        """`ip link delete`."""
        self._netlink.link("del", index=self.index(interface))

    def set(self, interface: str, **options: Any) -> None:  # noqa: ANN401  as add()
        """`ip link set`."""
        self._netlink.link("set", index=self.index(interface), **options)

    def set_port(self, interface: str, **options: Any) -> None:  # noqa: ANN401  as add()
        """`bridge link set`."""
        self._netlink.brport("set", index=self.index(interface), **options)

    def up(self, interface: str) -> None:
        """`ip link set up`."""
        self.set(interface, state="up")

    def down(self, interface: str) -> None:
        """`ip link set down`: of a veth, the other end loses carrier."""
        self.set(interface, state="down")

    def address(self, interface: str, address: str, prefix_len: int) -> None:
        """`ip address add`."""
        self._netlink.addr("add", index=self.index(interface), address=address, prefixlen=prefix_len)

    def route(self, destination: str, gateway: str) -> None:
        """`ip route add DESTINATION via GATEWAY`."""
        self._netlink.route("add", dst=destination, gateway=gateway)

    def sysctl(self, key: str, value: int) -> None:
        """Set /proc/sys/KEY within the namespace; interfaces have to be there already."""
        with self.inside():
            Path("/proc/sys", key).write_text(str(value), encoding="ascii")

    @contextlib.contextmanager
    def inside(self) -> Iterator[None]:
        """The thread is in the namespace: sockets that are made here belong to it."""
        with Path("/proc/thread-self/ns/net").open("rb") as home, (RUN_NETNS / self.name).open("rb") as there:
            _enter(there.fileno())
            try:
                yield
            finally:
                _enter(home.fileno())

    def run(self, *command: str, check: bool = True) -> str:
        """Run a program in the namespace; its standard output. Raises: FabricError where it fails."""
        done = subprocess.run(self.command(*command), capture_output=True, text=True, check=False)
        if check and done.returncode:
            raise FabricError(f"{' '.join(command)} in {self.name} failed: {(done.stderr or done.stdout).strip()}")
        return done.stdout

    def command(self, *command: str) -> list[str]:
        """The command line that runs a program in the namespace."""
        return ["nsenter", f"--net={RUN_NETNS / self.name}", *command]

    def close(self) -> None:
        """End the netlink session."""
        self._netlink.close()


def _enter(descriptor: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)       # os.setns() is there from Python 3.12 on
    if libc.setns(descriptor, _CLONE_NEWNET):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


class Namespaces:
    """Namespaces with one prefix, as a context: whatever happens inside, they are gone behind it."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self._made: dict[str, Namespace] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getitem__(self, name: str) -> Namespace:
        return self._made[name]

    def add(self, name: str) -> Namespace:
        """Make one. Raises: FabricError where the name is taken."""
        from pyroute2 import netns  # noqa: PLC0415

        whole = f"{self.prefix}-{name}"
        if (RUN_NETNS / whole).exists():
            raise FabricError(f"there is a network namespace {whole} already", "end that laboratory first: fabric lab "
                              "down")
        netns.create(whole)
        try:
            self._made[name] = Namespace(whole)
        except BaseException:
            netns.remove(whole)
            raise
        return self._made[name]

    def cable(self, a: str, a_interface: str, b: str, b_interface: str, mtu: int = 9100) -> None:
        """A veth pair between two of them, both ends up."""
        self._made[a].add(a_interface, "veth", mtu=mtu, peer={
            "ifname": b_interface, "net_ns_fd": self._made[b].name, "mtu": mtu})
        self._made[a].up(a_interface)
        self._made[b].up(b_interface)

    def keep(self) -> None:
        """Leave them as they are: close() will not remove them. `adopt` finds them again."""
        for namespace in self._made.values():
            namespace.close()
        self._made.clear()

    def adopt(self) -> Self:
        """Take over every namespace with this prefix that an earlier process left."""
        for path in sorted(RUN_NETNS.glob(f"{self.prefix}-*")):
            self._made[path.name.removeprefix(f"{self.prefix}-")] = Namespace(path.name)
        return self

    def names(self) -> tuple[str, ...]:
        """Without the prefix."""
        return tuple(self._made)

    def close(self) -> None:
        """Remove all of them."""
        from pyroute2 import netns  # noqa: PLC0415

        while self._made:
            _, namespace = self._made.popitem()
            namespace.close()
            netns.remove(namespace.name)
