"""Network namespaces and their devices: veth cables, bridges, VXLAN devices. Created by netlink (pyroute2).

The kernel removes devices with their namespace, and no device is ever outside of one: one request creates both ends of
a veth pair in their namespaces. Needs Linux and root.

A namespace is created in four steps: unshare(2) creates it without a name, its `lo` gets the token of the laboratory as
alias, the record lists its inode (record.py), and a mount at /run/netns/NAME keeps it, as `ip netns` does. If the
process dies before the last step, the namespace ends with it. Inode and token distinguish it from a namespace of the
same name that another program created.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from fabric.errors import FabricError, InputErrors, Problem
from fabric.lab.names import INTERFACE_LIMIT, RUN_NETNS, namespace_name
from fabric.lab.record import Record

_CLONE_NEWNET: Final = 0x40000000
_MS_BIND, _MS_REC, _MS_SHARED = 0x1000, 0x4000, 0x100000
_MNT_DETACH: Final = 2
_NSFS_MAGIC: Final = 0x6E736673
"""linux/magic.h"""
_ALIAS: Final = "fabric-lab {}"
"""Alias of the interface `lo`: ip-link(8), `alias`."""


def laboratory_problems(programs: Sequence[str] = ()) -> list[Problem]:
    """Requirements of a laboratory that this machine lacks; `programs` are names on PATH, or whole paths."""
    problems = []
    if sys.platform != "linux":
        problems.append(Problem("system", f"{sys.platform} has no network namespaces", "use Linux"))
    elif os.geteuid() != 0:
        problems.append(Problem("system", "network namespaces need root", "run it with sudo"))
    problems += [
        Problem(program, "is not installed", "Debian and Ubuntu: apt install frr iproute2 util-linux")
        for program in programs
        if shutil.which(program) is None
    ]
    return problems


def require(programs: Sequence[str] = ()) -> None:
    """Raise InputErrors with all missing requirements."""
    problems = laboratory_problems(programs)
    if problems:
        raise InputErrors("laboratory", problems)


def has_vrf() -> bool:
    """Whether this kernel has VRF devices; tried in a temporary namespace without a name."""
    if laboratory_problems():
        return False
    from pyroute2 import NetlinkError  # noqa: PLC0415

    with _unshared() as (netlink, _):
        try:
            netlink.link("add", ifname="vrf0", kind="vrf", vrf_table=10)
        except NetlinkError:
            return False
        finally:
            netlink.close()
    return True


class Namespace:
    """One namespace, entered by netlink. Interfaces are named within it."""

    def __init__(self, name: str, inode: int, netlink: Any) -> None:  # noqa: ANN401  pyroute2's IPRoute, loaded late
        self.name = name
        self.inode = inode
        self._netlink = netlink

    def index(self, interface: str) -> int:
        """Number of an interface. Raises FabricError if there is none."""
        found = self._netlink.link_lookup(ifname=interface)
        if not found:
            raise FabricError(f"{self.name} has no interface {interface}")
        return int(found[0])

    def add(self, interface: str, kind: str, **options: Any) -> None:  # noqa: ANN401  attributes of the kind
        """`ip link add INTERFACE type KIND OPTIONS`."""
        peer = options.get("peer", {}).get("ifname", "")
        for it in (interface, peer):
            if len(it) > INTERFACE_LIMIT:
                raise FabricError(f"{it} is too long a name for an interface", f"at most {INTERFACE_LIMIT} characters")
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
        """Set /proc/sys/KEY within the namespace; its interfaces must exist already."""
        with self.inside():
            Path("/proc/sys", key).write_text(str(value), encoding="ascii")

    @contextlib.contextmanager
    def inside(self) -> Iterator[None]:
        """Move the thread into the namespace: sockets created here belong to it."""
        with _within(RUN_NETNS / self.name):
            yield

    def run(self, *command: str, check: bool = True) -> str:
        """Run a program in the namespace; returns its standard output. Raises: FabricError if it fails."""
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
    _checked(_libc().setns(descriptor, _CLONE_NEWNET))  # os.setns() exists from Python 3.12 on


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int, path: str | None = None) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), path)


def _mount(source: str, target: str, flags: int) -> None:
    _checked(_libc().mount(source.encode(), target.encode(), b"none", flags, None), target)


@contextlib.contextmanager
def _unshared() -> Iterator[tuple[Any, int]]:
    """(netlink socket in, descriptor of) a new namespace without a name; the caller closes the socket."""
    from pyroute2 import IPRoute  # noqa: PLC0415  takes a while, and only laboratories need it

    with contextlib.ExitStack() as stack:
        home = stack.enter_context(Path("/proc/thread-self/ns/net").open("rb"))
        try:
            _checked(_libc().unshare(_CLONE_NEWNET))
            there = stack.enter_context(Path("/proc/thread-self/ns/net").open("rb"))
            netlink = IPRoute()
        finally:
            _enter(home.fileno())
        yield netlink, there.fileno()


def _share_folder() -> int:
    """Make /run/netns a shared mount, as `ip netns` does; returns its descriptor, locked like in iproute2."""
    RUN_NETNS.mkdir(mode=0o755, parents=True, exist_ok=True)
    handle = os.open(RUN_NETNS, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    fcntl.flock(handle, fcntl.LOCK_EX)
    path = str(RUN_NETNS)
    try:
        _mount("", path, _MS_SHARED | _MS_REC)
    except OSError:  # not a mount yet
        _mount(path, path, _MS_BIND | _MS_REC)
        _mount("", path, _MS_SHARED | _MS_REC)
    return handle


def inode_at(path: Path) -> int | None:
    """Inode of the namespace that is mounted at a path; None if none is."""
    with contextlib.suppress(OSError), path.open("rb") as file:
        if _filesystem(file.fileno()) == _NSFS_MAGIC:
            return os.fstat(file.fileno()).st_ino
    return None


def _filesystem(descriptor: int) -> int:
    """`f_type` of fstatfs(2), the first word of its answer; os.fstatvfs() leaves it out."""
    answer = (ctypes.c_long * 32)()
    _checked(_libc().fstatfs(descriptor, ctypes.byref(answer)))
    return int(answer[0])


def carries(path: Path, token: str) -> bool:
    """Whether the namespace at a path belongs to the laboratory with this token."""
    from pyroute2 import IPRoute  # noqa: PLC0415

    with _within(path):
        netlink = IPRoute()
    try:
        return any(link.get_attr("IFLA_IFALIAS") == _ALIAS.format(token) for link in netlink.get_links(1))
    finally:
        netlink.close()


@contextlib.contextmanager
def _within(path: Path) -> Iterator[None]:
    with Path("/proc/thread-self/ns/net").open("rb") as home, path.open("rb") as there:
        try:
            _enter(there.fileno())
            yield
        finally:
            _enter(home.fileno())


def unmount(path: Path) -> None:
    """Remove the name of a namespace: it ends with the last process in it."""
    _checked(_libc().umount2(str(path).encode(), _MNT_DETACH), str(path))
    path.unlink()


class Namespaces:
    """The namespaces of one laboratory: created here, listed in its record, removed by teardown.py."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._made: dict[str, Namespace] = {}

    def __getitem__(self, node: str) -> Namespace:
        return self._made[node]

    def add(self, node: str) -> Namespace:
        """Create a namespace. Raises: FabricError if the name is in use."""
        name = namespace_name(self._record.head.name, node)
        path = RUN_NETNS / name
        if path.exists():
            raise FabricError(
                f"there is a network namespace {name} already, which no laboratory lists", f"ip netns delete {name}"
            )
        with _unshared() as (netlink, there):
            made = Namespace(name, os.fstat(there).st_ino, netlink)
            try:
                made.set("lo", ifalias=_ALIAS.format(self._record.head.token), state="up")
                self._record.add_namespace(node, name, made.inode)
                lock = _share_folder()
                try:
                    os.close(os.open(path, os.O_RDONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0))
                    _mount(f"/proc/self/fd/{there}", str(path), _MS_BIND)
                finally:
                    os.close(lock)
            except BaseException:
                made.close()
                raise
        self._made[node] = made
        return made

    def cable(self, a: str, a_interface: str, b: str, b_interface: str, mtu: int = 9100) -> None:
        """Create a veth pair between two namespaces, both ends up."""
        self._made[a].add(
            a_interface, "veth", mtu=mtu, peer={"ifname": b_interface, "net_ns_fd": self._made[b].name, "mtu": mtu}
        )
        self._made[a].up(a_interface)
        self._made[b].up(b_interface)

    def close(self) -> None:
        """End the netlink sessions; the namespaces stay."""
        while self._made:
            self._made.popitem()[1].close()
