#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The bare container: this machine's own root under `systemd-nspawn`, not booted. It has no manager, no bus, no writable
# cgroup, and a seccomp filter that refuses more than a host does. If a test needs something that such a host lacks, it
# must skip, never fail. Prints one TAP document, a subtest per test.
# usage: tests/lane/bare.sh TEST...     (paths in this tree; they run in /src, which is this tree)
#
# These make the host worse:
# BARE_USER=NAME        an ordinary user of this name, made for it, runs the tests
# BARE_CPUS=LIST        these processors alone, as taskset takes them
# BARE_BUSY=N           N busy loops run beside the tests
# BARE_QUOTA=PERCENT    all of it gets this share of one processor, where a cpu controller can be written
# BARE_DEADLINE=SECONDS (3600)   the whole container is killed after this
# TEST_DEADLINE=SECONDS (900)    each test
# B=DIRECTORY (build)   the build to test
set -euo pipefail

src=$(cd "$(dirname "$0")/../.." && pwd)
build=${B:-build}
deadline=${BARE_DEADLINE:-3600}
. "$src/tests/lane/overlay.sh"

# The kernel's throttle, in either version of cgroups. The container joins this cgroup, and nothing moves it further down.
limit_cpu() { # limit_cpu PERCENT
    local v1 v2 path
    v1=$(findmnt --noheadings --first-only --output TARGET --types cgroup --options cpu || true)
    v2=$(findmnt --noheadings --first-only --output TARGET --types cgroup2 || true)
    if [ "$v1" ] && mkdir "$v1/$LANE_NAME" 2>/dev/null; then
        throttle=$v1/$LANE_NAME
        echo 100000 >"$throttle/cpu.cfs_period_us"
        echo $(($1 * 1000)) >"$throttle/cpu.cfs_quota_us"
        echo $$ >"$throttle/cgroup.procs"
        return
    fi
    path=$v2$(sed -n 's/^0:://p' /proc/self/cgroup)
    if [ "${leaves[0]:-}" ] && echo +cpu >"$(dirname "${leaves[0]}")/cgroup.subtree_control" 2>/dev/null &&
        echo "$(($1 * 1000)) 100000" >"$path/cpu.max" 2>/dev/null; then
        return
    fi
    skip "no cpu controller can be written here"
}

end_limit() {
    [ "${throttle:-}" ] || return 0
    echo $$ >"$(dirname "$throttle")/cgroup.procs"
    rmdir "$throttle" 2>/dev/null || true
}

write_main() {
    local before="" busy=${BARE_BUSY:-0}
    [ ! "${BARE_CPUS:-}" ] || before="taskset --cpu-list $(printf %q "$BARE_CPUS")"
    {
        echo "export B=$(printf %q "$build") ACTORD_BUILD=/src/$(printf %q "$build") HOME=/root LANG=C.UTF-8"
        echo "export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        echo "for m in \$(findmnt --noheadings --list --output TARGET --types cgroup,cgroup2); do mount -o remount,bind,ro \$m; done"
        echo "cd /src"
        echo "for ((i = 0; i < $busy; i++)); do (while :; do :; done) & done"
        if [ "${BARE_USER:-}" ]; then
            echo "useradd --create-home --shell /bin/bash $(printf %q "$BARE_USER") && chown -R $(printf %q "$BARE_USER") /src/$(printf %q "$build") || exit 1"
            before="$before runuser -u $(printf %q "$BARE_USER") -- env HOME=/home/$(printf %q "$BARE_USER")"
        fi
        echo "$before tests/run --tap --deadline=${TEST_DEADLINE:-900}$(printf ' %q' "$@")"
    } >"$t/io/main"
}

# With systemd as PID 1 nspawn asks it for a scope; elsewhere it has to stay in the cgroup where it is.
run_inside() {
    local place=(--register=no) status=0
    trap 'leave_cgroup; end_limit' EXIT
    if [ ! -d /run/systemd/system ]; then
        place+=(--keep-unit)
        enter_cgroup
    fi
    [ ! "${BARE_QUOTA:-}" ] || limit_cpu "$BARE_QUOTA"
    setpriv --pdeathsig KILL timeout --kill-after=5 "$deadline" setpriv --pdeathsig KILL \
        systemd-nspawn --quiet --as-pid2 --directory="$t/root" --machine="$LANE_NAME" "${place[@]}" \
        --private-network --link-journal=no --resolv-conf=off --timezone=off \
        --bind="$t/io:/run/lane" --console=pipe /bin/bash /run/lane/main </dev/null || status=$?
    case $status in
    0 | 1) exit "$status" ;;
    124 | 137) bail "the container was still running after $deadline s." ;;
    *) bail "the container ended with status $status." ;;
    esac
}

[ $# -gt 0 ] || bail "no test was named."
[ "${LANE_NAME:-}" ] || enter "$0" "$@"
mount_root bare
write_main "$@"
run_inside
