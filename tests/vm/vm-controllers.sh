#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The machine itself: everything that the other tests in it rely on.
. tests/tap.sh

fork_twice() { # under TasksMax=2, sh and its first sleep use up what there is
    systemd-run --quiet --wait --pipe -p TasksMax=2 sh -c 'sleep 5 & sleep 5 & wait'
}

eat() { # eat MEBIBYTES
    systemd-run --quiet --wait -p MemoryMax=64M -p MemorySwapMax=0 python3 -c "bytearray($1 << 20)"
}

throttled() {
    systemd-run --quiet --wait --pipe -p CPUQuota=20% sh -c '
        end=$(($(date +%s) + 2)); while [ $(date +%s) -lt $end ]; do :; done
        cat /sys/fs/cgroup$(cut -d: -f3 /proc/self/cgroup)/cpu.stat' | grep -q '^nr_throttled [1-9]'
}

is "PID 1 is systemd" "$(cat /proc/1/comm)" systemd
is "cgroup v2 alone is mounted" "$(stat -f -c %T /sys/fs/cgroup)" cgroup2fs
for controller in cpuset cpu io memory pids; do
    check "controller $controller" grep -qw "$controller" /sys/fs/cgroup/cgroup.controllers
done
check "the system bus answers" busctl call org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus ListNames
check "no unit failed while it booted" sh -c '! systemctl --failed --no-legend --plain | grep .'
check "TasksMax lets through what it allows" systemd-run --quiet --wait -p TasksMax=2 sh -c 'sleep 0'
refuse "and stops the next process" fork_twice
check "MemoryMax lets through what it allows" eat 16
refuse "and kills what takes more" eat 128
check "CPUQuota throttles" throttled
check "the kernel's messages reach the journal" sh -c 'journalctl --dmesg --boot | grep -q "Linux version 6.1"'
check "the ordinary user has a manager" tests/lane/as-tester systemctl --user show-environment
finish
