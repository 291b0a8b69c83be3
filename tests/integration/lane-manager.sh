#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The lane itself: everything that the other tests in it rely on.
. tests/tap.sh

manager() { # manager METHOD SIGNATURE ARGUMENT...
    busctl call org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager "$@"
}

start_scope() { # start_scope NAME PID
    manager StartTransientUnit 'ssa(sv)a(sa(sv))' "$1" fail 2 PIDs au 1 "$2" Delegate b true 0
}

is_active() {
    systemctl is-active --quiet "$1"
}

freeze_and_thaw() {
    local leaf=/sys/fs/cgroup/system.slice/lane-probe.scope
    echo 1 >"$leaf"/cgroup.freeze &&
        wait_for 5 grep -q 'frozen 1' "$leaf"/cgroup.events &&
        echo 0 >"$leaf"/cgroup.freeze &&
        wait_for 5 grep -q 'frozen 0' "$leaf"/cgroup.events
}

structured_entry() {
    printf 'MESSAGE=a probe\nPRIORITY=6\nACTORD_PROBE=42\n' | logger --journald &&
        wait_for 5 sh -c "journalctl --quiet ACTORD_PROBE=42 | grep -q 'a probe'"
}

is "PID 1 is systemd" "$(cat /proc/1/comm)" systemd
is "cgroup v2 alone is mounted" "$(stat -f -c %T /sys/fs/cgroup)" cgroup2fs
check "the system bus answers" busctl call org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus ListNames
check "polkit answers" busctl get-property org.freedesktop.PolicyKit1 /org/freedesktop/PolicyKit1/Authority \
    org.freedesktop.PolicyKit1.Authority BackendName
check "no unit failed while it booted" sh -c '! systemctl --failed --no-legend --plain | grep .'

sleep 60 &
check "StartTransientUnit makes a scope" start_scope lane-probe.scope $!
check "the scope becomes active" wait_for 5 is_active lane-probe.scope
check "its cgroup is writable, its processes freeze and thaw" freeze_and_thaw
check "its CPU time is counted" grep -q '^usage_usec' /sys/fs/cgroup/system.slice/lane-probe.scope/cpu.stat
check "it stops" systemctl stop lane-probe.scope

check "structured fields reach the journal" structured_entry
check "the ordinary user has a manager" tests/lane/as-tester systemctl --user show-environment
check "and a session bus" tests/lane/as-tester busctl --user list
is "and is not root" "$(tests/lane/as-tester id -un)" tester
check "which may read this tree" tests/lane/as-tester test -r /src/Makefile
refuse "but may not start units of the system" tests/lane/as-tester busctl call org.freedesktop.systemd1 \
    /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager StartUnit ss dbus.service replace
finish
