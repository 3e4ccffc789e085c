"""Outputs of a healthy host's tools, as docs/howto/hosts.md's script writes them: mlx5, AMD and Broadcom NICs.

Every host has one port, eth0, on the fabric of plan.py: RoCE is DSCP 26 and priority 3, CNPs are DSCP 48.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

Edit = Callable[[str], str]

_MLX5: Final = """\
### rdma link
link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev eth0
### ip link show
2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP mode DEFAULT group default qlen 1000
    link/ether b8:3f:d2:00:00:01 brd ff:ff:ff:ff:ff:ff
### cma_roce_tos -d mlx5_0
106
### mlnx_qos -i eth0
DCBX mode: OS controlled
Priority trust state: dscp
dscp2prio mapping:
\tprio:0 dscp:07,06,05,04,03,02,01,00,
\tprio:1 dscp:15,14,13,12,11,10,09,08,
\tprio:2 dscp:23,22,21,20,19,18,17,16,
\tprio:3 dscp:31,30,29,28,27,26,25,24,
\tprio:4 dscp:39,38,37,36,35,34,33,32,
\tprio:5 dscp:47,46,45,44,43,42,41,40,
\tprio:6 dscp:55,54,53,52,51,50,49,48,
\tprio:7 dscp:63,62,61,60,59,58,57,56,
default priority:
Receive buffer size (bytes): 130944,262016,0,0,0,0,0,0,max_buffer_size=4151520
Cable len: 7
PFC configuration:
\tpriority    0   1   2   3   4   5   6   7
\tenabled     0   0   0   1   0   0   0   0
\tbuffer      0   0   0   1   0   0   0   0
tc: 0 ratelimit: unlimited, tsa: vendor
\t priority:  1
tc: 1 ratelimit: unlimited, tsa: vendor
\t priority:  0
tc: 3 ratelimit: unlimited, tsa: vendor
\t priority:  3
### sysfs
/sys/class/infiniband/mlx5_0/tc/1/traffic_class:unset
/sys/class/infiniband/mlx5_0/device/net/eth0:eth0
/sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/0:IB/RoCE v1
/sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/1:RoCE v2
/sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/2:IB/RoCE v1
/sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/3:RoCE v2
/sys/class/net/eth0/ecn/roce_np/enable/0:0
/sys/class/net/eth0/ecn/roce_np/enable/3:1
/sys/class/net/eth0/ecn/roce_np/cnp_dscp:48
/sys/class/net/eth0/ecn/roce_np/cnp_802p_prio:6
/sys/class/net/eth0/ecn/roce_np/min_time_between_cnps:4
/sys/class/net/eth0/ecn/roce_rp/enable/0:0
/sys/class/net/eth0/ecn/roce_rp/enable/3:1
/sys/class/net/eth0/ecn/roce_rp/rpg_ai_rate:5
/sys/class/net/eth0/ecn/roce_rp/rpg_hai_rate:50
/sys/class/net/eth0/mtu:9000
/sys/class/net/eth0/speed:400000
### env
NCCL_IB_HCA=mlx5_0
NCCL_IB_GID_INDEX=3
NCCL_IB_TC=106
UCX_NET_DEVICES=mlx5_0:1
UCX_IB_TRAFFIC_CLASS=104
"""

_AMD: Final = """\
### rdma link
link ionic_0/1 state ACTIVE physical_state LINK_UP netdev eth0
### nicctl show qos
NIC  : 42424650-4c32-3531-3230-303443000000 (0000:06:00.0)

Port : 04908130-a7a0-4242-4242-000011010000

  Classification type         : DSCP

  DSCP-to-priority :
    DSCP bitmap               : 0xfffefffffbffffff ==> priority : 0
    DSCP bitmap               : 0x0000000004000000 ==> priority : 3
    DSCP bitmap               : 0x0001000000000000 ==> priority : 6
    DSCP                      : 0-25, 27-47, 49-63 ==> priority : 0
    DSCP                      : 26 ==> priority : 3
    DSCP                      : 48 ==> priority : 6

  PFC :
    PFC priority bitmap       : 0x8
    PFC no-drop priorities    : 3

  Scheduling :
    --------------------------------------------
    Priority  Scheduling  Bandwidth Rate-limit
              Type        (in %age) (in Gbps)
    --------------------------------------------
    0         DWRR        1         N/A
    3         DWRR        99        N/A
    6         strict      N/A       10
### nicctl show dcqcn
NIC : 42424650-4c32-3531-3230-303443000000 (0000:06:00.0)
------------------------------------------------------------------------------------------
Lif id                                     : 43000070-0100-0000-4242-04908130a7a0
ROCE device                                : ionic_0
  DCQCN profile id                         : 1
  Status                                   : Enabled
  Rate increase in AI phase                : 160
  Rate increase byte count                 : 431068
  Alpha update G value                     : 512
  Token bucket size                        : 800000
  DSCP value used for CNP                  : 48
### env
NCCL_IB_HCA=ionic_0:1
NCCL_IB_TC=104
MORI_RDMA_TC=104
MORI_RDMA_SL=3
"""

_BROADCOM: Final = """\
### rdma link
link bnxt_re0/1 state ACTIVE physical_state LINK_UP netdev eth0
### niccli --list_devices
1 ) Broadcom BCM57608 1x400G QSFP-DD PCIe Ethernet NIC (Adp#1 Port#1)
     Device Interface Name     : eth0
     MAC Address               : 8C:84:74:37:C3:70
     PCI Address               : 0000:06:00.0
### niccli --dev 1 qos --ets --show
IEEE 8021QAZ ETS Configuration TLV:
         PRIO_MAP: 0:0 1:0 2:0 3:1 4:0 5:0 6:0 7:2
         TC Bandwidth: 50% 50% 0%
         TSA_MAP: 0:ets 1:ets 2:strict
IEEE 8021QAZ PFC TLV:
         PFC enabled: 3
IEEE 8021QAZ APP TLV:
         APP#0:
          Priority: 7
          Sel: 5
          DSCP: 48

         APP#1:
          Priority: 3
          Sel: 5
          DSCP: 26

         APP#2:
          Priority: 3
          Sel: 3
          UDP or DCCP: 4791

TC Rate Limit: 100% 100% 100% 0% 0% 0% 0% 0%
### sysfs
/sys/kernel/config/bnxt_re/bnxt_re0/ports/1/cc/ecn_enable:0x1
/sys/kernel/config/bnxt_re/bnxt_re0/ports/1/cc/cnp_dscp:48
### env
NCCL_IB_HCA=bnxt_re0
NCCL_IB_TC=106
"""

_VF: Final = """\
### rdma link
link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev eth0
link mlx5_2/1 state ACTIVE physical_state LINK_UP netdev eth0v0
### sysfs
/sys/class/net/eth0v0/device/physfn/net:eth0
/sys/class/infiniband/mlx5_2/tc/1/traffic_class:Global tclass=106
"""

MLX5, AMD, BROADCOM = "mlx5", "amd", "broadcom"
OUTPUTS: Final = {MLX5: _MLX5, AMD: _AMD, BROADCOM: _BROADCOM}
VF: Final = _VF


def healthy(last: str) -> dict[str, str]:
    """Host -> its outputs: three hosts with mlx5 NICs, and the last with another vendor's."""
    return {**dict.fromkeys(("host1", "host2", "host3"), _MLX5), "host4": OUTPUTS[last]}


def without(start: str) -> Edit:
    """No line that begins so."""

    def edit(text: str) -> str:
        lines = text.splitlines(keepends=True)
        kept = [line for line in lines if not line.startswith(start)]
        assert len(kept) < len(lines), start
        return "".join(kept)

    return edit


def with_vf(text: str) -> str:
    """A host whose application runs on a VF; the device of its port and that of the VF have a traffic class."""
    text = text.replace("mlx5_0/tc/1/traffic_class:unset", "mlx5_0/tc/1/traffic_class:Global tclass=106")
    text = without("NCCL_IB_TC")(text)
    return _VF + text
