# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# The file systems of both containers, the booted lane (fast.sh) and the bare one (bare.sh): an overlay of this machine's
# root, and one of this tree at /src. All changes that the tests make are thrown away with them.
# Source it with `src` and `build` set; mount_root() sets `t`, the folder of the container.
# shellcheck disable=SC2154

skip() {
    echo "1..0 # SKIP $*"
    exit 0
}

bail() {
    echo "Bail out! $*"
    exit 1
}

# Runs the script again in a mount namespace of our own: every mount below ends with this process, however it ends. A PID
# namespace does the same for the container's processes; not where systemd is asked for a scope, since it would not know
# our numbers.
enter() { # enter SCRIPT TEST...
    local own=(--mount --propagation private)
    [ "$(id -u)" -eq 0 ] || skip "the container needs root"
    command -v systemd-nspawn >/dev/null || skip "systemd-nspawn is missing: packaging/dependencies.sh test"
    [ -d /run/systemd/system ] || own+=(--pid --fork --kill-child --mount-proc)
    unshare "${own[@]}" true 2>/dev/null || skip "no mount namespaces here"
    LANE_NAME=actord-lane-$$ exec unshare "${own[@]}" "$@"
}

# If no manager gives us a scope, nspawn puts its cgroups beside our own process: so we move to a cgroup of our own.
leaves=()
enter_cgroup() {
    local controllers path mount
    while IFS=: read -r _ controllers path; do
        case $controllers in
        '') mount=$(findmnt --noheadings --first-only --output TARGET --types cgroup2) ;;
        name=systemd) mount=$(findmnt --noheadings --output TARGET --types cgroup --options name=systemd | head -n 1) ;;
        *) continue ;;
        esac
        [ "$mount" ] || skip "no cgroup hierarchy is mounted here"
        mkdir "$mount$path/$LANE_NAME" 2>/dev/null || skip "cgroups are not writable here"
        leaves+=("$mount$path/$LANE_NAME")
        { echo $$ >"$mount$path/$LANE_NAME/cgroup.procs"; } 2>/dev/null || skip "processes cannot be moved into a cgroup here"
    done <<<"$(cat /proc/self/cgroup)" # all of it first: it changes as we move
}

leave_cgroup() {
    local leaf
    for leaf in "${leaves[@]}"; do
        echo $$ >"$(dirname "$leaf")/cgroup.procs"
        find "$leaf" -depth -type d -exec rmdir {} + 2>/dev/null || true # what still ends keeps an empty directory
    done
}

# The tree is a second overlay on /src: it may lie on a file system that an overlay of / does not reach.
mount_root() { # mount_root NAME    the container's folder is BUILD/NAME
    t=$src/$build/$1
    mkdir -p "$t"
    mount -t tmpfs -o mode=755 lane "$t" 2>/dev/null || skip "mounting is not allowed here"
    mkdir "$t"/{root,upper,work,src-upper,src-work,io}
    mount -t overlay overlay -o "lowerdir=/,upperdir=$t/upper,workdir=$t/work" "$t/root" 2>/dev/null ||
        skip "no overlay of / can be mounted here"
    mkdir -p "$t/root/src" /run/systemd/nspawn
    mount -t overlay overlay -o "lowerdir=$src,upperdir=$t/src-upper,workdir=$t/src-work" "$t/root/src" 2>/dev/null ||
        skip "no overlay of $src can be mounted here"
    chmod 755 "$t/root/src"
    # nspawn leaves traces of each container there.
    mount -t tmpfs -o mode=755 lane /run/systemd/nspawn
}
