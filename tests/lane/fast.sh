#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The fast lane: this machine's own root, under a real systemd as PID 1, at native speed. systemd-nspawn boots an overlay
# of /; all changes that the tests make are thrown away with it. Prints one TAP document, a subtest per test.
# usage: tests/lane/fast.sh [--fresh] TEST...     (paths in this tree; they run as root, in /src, which is this tree)
#
# --fresh: a system that has never seen actord: no file of it, no user _actord, and a bus that started without its rules.
#
# Inside: system bus, polkit, journald, logind, an ordinary user `tester` with a manager and a session bus of its own
# (tests/lane/as-tester), this tree installed if it can be. Where cgroup v1 holds the controllers (memory, pids, cpu),
# they are missing inside; tests that need them are in tests/vm.
#
# LANE_DEADLINE=SECONDS (300)   the whole lane is killed after this
# TEST_DEADLINE=SECONDS (120)   each test
# TRUST_LONG=, TRUST_SEED=      for the tests of tests/trust
# B=DIRECTORY (build)           the build to install
set -euo pipefail

src=$(cd "$(dirname "$0")/../.." && pwd)
build=${B:-build}
deadline=${LANE_DEADLINE:-300}

. "$src/tests/lane/overlay.sh"

# None of the host's own services runs inside: no database, no mail, nothing that starts by itself there.
write_units() {
    local units=$t/root/etc/systemd/system
    mkdir -p "$units" "$t/root/etc/systemd/user"
    find "$units" "$t/root/etc/systemd/user" -mindepth 1 -delete
    rm -f "$t/root/etc/fstab" "$t/root/etc/crypttab"
    cat >"$units/lane.target" <<END
[Unit]
Description=What the tests find running
Requires=basic.target
Wants=dbus.socket systemd-logind.service systemd-user-sessions.service lane.service
After=basic.target
END
    cat >"$units/lane.service" <<END
[Unit]
Description=The tests of the fast lane
After=basic.target dbus.socket systemd-user-sessions.service
SuccessAction=exit-force
FailureAction=exit-force
[Service]
Type=exec
RuntimeMaxSec=$deadline
ExecStart=/bin/bash /run/lane/main
StandardOutput=file:/run/lane/out
StandardError=inherit
END
}

write_main() {
    local name
    {
        echo "export B=$(printf %q "$build") LANE_FRESH=$fresh"
        for name in TEST_DEADLINE TRUST_LONG TRUST_SEED; do
            [ ! "${!name:-}" ] || echo "export $name=$(printf %q "${!name}")"
        done
        echo "cd /src && exec tests/lane/inside.sh$(printf ' %q' "$@")"
    } >"$t/io/main"
}

# Also the files that an earlier installation left on this machine.
make_fresh() {
    make -C "$src" -s --no-print-directory B="$build" uninstall DESTDIR="$t/root" >/dev/null 2>&1 || bail "make uninstall failed."
    sed -i '/^_actord\(-metrics\)\?:/d' "$t"/root/etc/{passwd,group,shadow,gshadow}
    rm -rf "$t"/root/etc/actord "$t"/root/var/lib/actord
}

# Into the overlay, before it boots, so that the manager finds the units in their place.
install_tree() {
    make -C "$src" -n install >/dev/null 2>&1 || return 0
    make -C "$src" -s --no-print-directory B="$build" install DESTDIR="$t/root" >"$t/install" 2>&1 && return 0
    sed 's/^/# /' "$t/install"
    bail "make install failed."
}

# With systemd as PID 1 nspawn asks it for a scope; elsewhere it has to stay in the cgroup where it is.
boot() {
    local place=(--register=no) status=0 reader nspawn
    [ -c /dev/fuse ] && place+=(--bind=/dev/fuse) # for a user's own file system
    if [ ! -d /run/systemd/system ]; then
        place+=(--keep-unit)
        trap leave_cgroup EXIT
        enter_cgroup
    fi

    mkfifo "$t/io/out"
    exec 4<>"$t/io/out"
    cat "$t/io/out" 4>&- &
    reader=$!

    SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 setpriv --pdeathsig KILL \
        timeout --kill-after=5 "$deadline" setpriv --pdeathsig KILL \
        systemd-nspawn --quiet --boot --directory="$t/root" --machine="$LANE_NAME" "${place[@]}" \
        --private-network --capability=CAP_SYS_RESOURCE --link-journal=no --resolv-conf=off --timezone=off --system-call-filter=@known \
        --bind="$t/io:/run/lane" --console=pipe systemd.unit=lane.target \
        </dev/null >"$t/console" 2>&1 4>&- &
    nspawn=$!
    trap 'kill $nspawn 2>/dev/null; wait $nspawn; exit 143' TERM INT HUP
    wait $nspawn || status=$?

    exec 4>&-
    wait $reader
    case $status in
    0 | 1) exit "$status" ;;
    124 | 137) why="the lane was still running after $deadline s." ;;
    *) why="the lane ended with status $status." ;;
    esac
    tail -n 40 "$t/console" | sed 's/^/# /'
    bail "$why"
}

[ "$*" != "" ] && [ "$*" != --fresh ] || bail "no test was named."
[ "${LANE_NAME:-}" ] || enter "$0" "$@"
fresh=
if [ "$1" = --fresh ]; then
    fresh=1
    shift
fi
mount_root lane
write_units
write_main "$@"
if [ "$fresh" ]; then make_fresh; else install_tree; fi
boot
