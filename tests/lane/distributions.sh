#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The Debian packages on other releases than this machine's: built by the release's compiler against its libraries, checked by its
# lintian, installed, tried and purged there. A root of each release comes from its archive once, into BUILD/roots (about 1 GB, some
# minutes); without archive, root or mmdebstrap it is skipped. What a check changes in a root is thrown away.
# usage: tests/lane/distributions.sh RELEASE...      (trixie: Debian 13; noble: Ubuntu 24.04, whose key is a package of trixie)
# B=DIRECTORY (build)   where roots lie
# shellcheck disable=SC2016 # the shell inside expands them
set -euo pipefail

src=$(cd "$(dirname "$0")/../.." && pwd)
roots=$src/${B:-build}/roots
n=0

skip() {
    echo "1..0 # SKIP $*"
    exit 0
}

point() { # point TEXT COMMAND...    one test point: its status, and what the command said if it failed
    local text=$1 status=0
    shift
    n=$((n + 1))
    "$@" >"$roots/log" 2>&1 || status=$?
    if [ "$status" -eq 0 ]; then
        echo "ok $n - $text"
    else
        echo "not ok $n - $text"
        tail -n 40 "$roots/log" | sed 's/^/# /'
        return 1
    fi
}

archive() {
    case $1 in
    trixie) echo "deb http://deb.debian.org/debian trixie main" ;;
    noble) echo "deb [signed-by=$roots/ubuntu-archive-keyring.gpg] http://archive.ubuntu.com/ubuntu noble main universe" ;;
    *) skip "unknown release $1: say trixie or noble" ;;
    esac
}

packages() { # packages RELEASE
    sed -n '/^list_build()/,/^END/p' "$src/packaging/dependencies.sh" | awk 'NF > 1 && !/END/ { print $1 }'
    printf '%s\n' build-essential dbus debhelper dh-python dpkg-dev libpam-systemd lintian python3-numpy python3-setuptools systemd
    [ "$1" != trixie ] || echo ubuntu-keyring
}

make_root() { # make_root RELEASE
    [ ! -e "$roots/$1.complete" ] || return 0
    [ "$1" != noble ] || make_root trixie
    echo "# making a root of $1, once ($roots/$1)"
    rm -rf --one-file-system "${roots:?}/$1"
    archive "$1" | mmdebstrap --quiet --variant=minbase --include="$(packages "$1" | xargs | tr ' ' ',')" \
        --aptopt='APT::Install-Recommends "false"' --dpkgopt='path-exclude=/usr/share/man/*' "$1" "$roots/$1" - 2>"$roots/log" ||
        skip "the archive gave no root of $1: $(grep -m 1 '^E:' "$roots/log")"
    [ "$1" != trixie ] || cp -L "$roots/$1/usr/share/keyrings/ubuntu-archive-keyring.gpg" "$roots/"
    touch "$roots/$1.complete"
}

# An overlay of the root, with this tree at /src; both end with this process.
enter_root() { # enter_root RELEASE
    t=$roots/overlay
    mkdir -p "$t"
    mount -t tmpfs -o mode=755 overlay "$t" 2>/dev/null || skip "mounting is not allowed here"
    mkdir "$t"/{root,upper,work}
    mount -t overlay overlay -o "lowerdir=$roots/$1,upperdir=$t/upper,workdir=$t/work" "$t/root"
    mkdir -p "$t/root/src"
    mount --bind -o ro "$src" "$t/root/src"
    mount -t proc proc "$t/root/proc"
    mount --rbind /dev "$t/root/dev"
    mount -t tmpfs -o mode=1777 tmp "$t/root/tmp"
}

inside() {
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 XDG_STATE_HOME=/tmp/state chroot "$t/root" /bin/bash -euc "$*"
}

packed() {
    inside 'DEB_BUILD_OPTIONS="nocheck parallel=2" /src/packaging/deb.sh /tmp/deb
            ls /tmp/deb/actord_*.deb /tmp/deb/actord.spdx.json'
}

# The same policies as on this machine, so the table of the golden ones.
policies() {
    inside 'policy() {
                got=$(actorctl run /usr/share/doc/actord/examples/$1.conf --set=Job.StopReturn= "${@:2}" --json=short |
                    python3 -c "import json, sys; print(json.load(sys.stdin)[\"policy_sha256\"])")
                [ "$got" = "$(awk -v name=$1 "\$1 == name { print \$2 }" /src/tests/data/golden.tsv)" ] || { echo "$1: $got"; return 1; }
            }
            policy cartpole --set=Job.StopSteps=2048
            policy pendulum --set=Job.StopSteps=4096
            policy hopper --set=Job.StopSteps=4096 --set=Actor.RolloutSteps=1024'
}

# What Python's interpreter of the release makes of our package. The package index's safetensors is one file for all of them.
interprets() {
    local modules=$roots/modules
    [ -d "$modules" ] || python3 -m pip --quiet --disable-pip-version-check install --only-binary=:all: --python-version=3.12 --no-deps --target="$modules" safetensors
    inside "PYTHONPATH=/src/${modules#"$src/"} python3 /src/tests/lane/distributions.py /src/tests/data/golden.tsv"
}

check() { # check RELEASE    what was not made or installed cannot be tried
    local names="actord actord-environments libactord-dev python3-actord"
    point "$1: the packages are made" packed || return 0
    point "$1: its lintian finds no error" inside 'lintian --allow-root --fail-on error --suppress-tags bad-distribution-in-changes-file /tmp/deb/*.changes' || true
    point "$1: they install" inside "cd /tmp/deb; for name in $names; do echo ./\${name}_*.deb; done | xargs dpkg --install" || return 0
    point "$1: their own tests pass" inside 'for name in run plugin; do mkdir /tmp/$name; AUTOPKGTEST_TMP=/tmp/$name /src/packaging/debian/tests/$name; done' || true
    point "$1: the same policies as on every machine" policies || true
    point "$1: its Python runs jobs and reads policies" interprets || true
    point "$1: purged, nothing is left" inside "dpkg --purge $names; ! ls -d /usr/lib/actord /usr/share/actord /etc/actord /var/lib/actord /usr/bin/actor*" || true
}

[ $# -gt 0 ] || skip "no release was named"
[ "$(id -u)" -eq 0 ] || skip "a root of another release needs root"
command -v mmdebstrap >/dev/null || skip "mmdebstrap is missing: packaging/dependencies.sh vm"
[ "${ACTORD_ROOTS:-}" ] || ACTORD_ROOTS=1 exec unshare --mount --propagation private --pid --fork --kill-child --mount-proc "$0" "$@"
mkdir -p "$roots"
for release; do
    make_root "$release"
done
for release; do
    enter_root "$release"
    check "$release"
    umount --recursive "$t"
done
echo "1..$n"
