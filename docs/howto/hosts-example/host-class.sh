#!/bin/sh
# Prints what `fabric validate` reads of a host: sh host-class.sh [PID] > HOST.txt, as root.
# PID: a process of the job, whose environment counts; without one, that of this shell.

run() {
    command -v "$1" >/dev/null 2>&1 || return 0
    echo "### $*"
    "$@" 2>/dev/null
}

run rdma link
run ibdev2netdev
run ip link show
for path in /sys/class/infiniband/*; do
    [ -e "$path" ] && run cma_roce_tos -d "${path##*/}"
done
for path in /sys/class/infiniband/*/device/net/*; do
    [ -e "$path" ] && run mlnx_qos -i "${path##*/}"
done
run nicctl show qos
run nicctl show dcqcn
run niccli --list_devices
for number in $(niccli --list_devices 2>/dev/null | sed -n 's/^ *\([0-9][0-9]*\) *).*/\1/p'); do
    run niccli --dev "$number" qos --ets --show
done

echo "### sysfs"
for path in /sys/class/infiniband/*/tc/1/traffic_class; do
    [ -e "$path" ] && echo "$path:$(grep -m 1 . "$path" || echo unset)"
done
for path in /sys/class/infiniband/*/device/net/*; do
    [ -e "$path" ] && echo "$path:${path##*/}"
done
for path in /sys/class/net/*/device/physfn/net/*; do
    [ -e "$path" ] && echo "${path%/*}:${path##*/}"
done
for path in /sys/class/net/*/ecn/* /sys/class/infiniband/*/ports/*/gid_attrs/types /sys/class/net/*/mtu \
    /sys/class/net/*/speed /sys/kernel/config/rdma_cm /sys/kernel/config/bnxt_re; do
    [ -e "$path" ] && grep -rHs . "$path"
done

echo "### env"
{
    cat /etc/nccl.conf 2>/dev/null
    if [ -n "$1" ]; then tr '\0' '\n' <"/proc/$1/environ"; else env; fi
} | grep -E '^(NCCL|UCX|MORI|NVSHMEM)_'
