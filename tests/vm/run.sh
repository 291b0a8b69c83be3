#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The full lane: a virtual machine with Debian 12's own kernel and every cgroup v2 controller, for tests that need them
# (limits that are enforced, the kernel that users have). Prints one TAP document, a subtest per test.
# usage: tests/vm/run.sh TEST...     (paths in this tree; they run as root, in /src, which is this tree)
#
# The processor is emulated, an order of magnitude slower: no test of speed belongs here. The image is made once, in
# build/vm; what tests change in it is thrown away.
#
# VM_ACCEL=kvm                  for a host on which KVM really works; where it is nested it often does not
# VM_DEADLINE=SECONDS (900)     the machine is switched off after this
# VM_MEMORY=MEGABYTES (2048)
# B=DIRECTORY (build)           the build to copy in and to make packages of
set -euo pipefail

src=$(cd "$(dirname "$0")/../.." && pwd)
build=${B:-build}
deadline=${VM_DEADLINE:-900}
cd "$src"

skip() {
    echo "1..0 # SKIP $*"
    exit 0
}

bail() {
    echo "Bail out! $*"
    exit 1
}

# The image is made under a lock; its name says what it was made from.
find_image() {
    local version
    version=$(find tests/vm/packages tests/vm/image.sh tests/vm/root -type f | sort | xargs cat | sha256sum | cut -c1-12)
    image=$src/build/vm/$version
    [ -e "$image/complete" ] && return 0
    [ "$(id -u)" -eq 0 ] || skip "making the image needs root: sudo make check-vm"
    mkdir -p build/vm
    flock build/vm/lock unshare --mount tests/vm/image.sh "$image" || bail "the image could not be made."
    find build/vm -mindepth 1 -maxdepth 1 -type d ! -name "$version" -exec rm -rf {} +
}

can_package() {
    command -v dpkg-buildpackage && command -v dh && command -v dh_python3
} >/dev/null

# The packages of this build, and once more with a higher version: only their numbers differ. They are not compressed, as an emulated
# processor would take long to undo that.
make_packages() { # make_packages DIRECTORY
    local version new deb tree=$work/tree
    export DPKG_DEB_COMPRESSOR_TYPE=none
    packaging/deb.sh "$1/made" "$build" >"$work/packages" 2>&1 || {
        sed 's/^/# /' "$work/packages"
        bail "the packages could not be made."
    }
    version=$(sed -n 's/^VERSION := //p' Makefile)
    new=$version+newer
    mkdir "$1/$version" "$1/$new"
    for deb in "$1"/made/*.deb; do
        rm -rf "$tree"
        dpkg-deb --raw-extract "$deb" "$tree"
        sed -i "s/^Version: .*/Version: $new/; s/(= $version)/(= $new)/" "$tree/DEBIAN/control"
        dpkg-deb --root-owner-group --build "$tree" "$1/$new" >/dev/null
        mv "$deb" "$1/$version/"
    done
    rm -rf "$1/made" "$tree"
}

# The part of this tree that tests use: no objects, no history. Nothing is installed.
pack() {
    local stage=$work/stage
    mkdir -p "$stage/src/$build/deb"
    tar --create --exclude='*.o' --exclude='*.a' --exclude='*.d' --exclude=./.git --exclude="./$build/vm" \
        --exclude="./$build/lane" --exclude="./$build/tidy" --exclude="./$build/fuzz" --exclude="./$build/roots" \
        --exclude="./$build/deb" --exclude="./$build/peers" --exclude="./$build/venv-*" --exclude='./build-*' . |
        tar --extract --directory="$stage/src"
    if can_package; then
        make_packages "$stage/src/$build/deb"
    fi
    {
        echo "export LANE_FRESH=1 B=$(printf %q "$build") TEST_DEADLINE=${TEST_DEADLINE:-1800}"
        echo "cd /src && exec tests/lane/inside.sh$(printf ' %q' "$@")"
    } >"$stage/src/.vm-main"
    tar --create --owner=0 --group=0 --directory="$stage" --file="$work/disk" .
    truncate --size=%512K "$work/disk"
    rm -rf "$stage"
}

# Three channels out of the machine: the tests' output, their exit status, and the console in case of a failure.
boot() {
    local status=0 qemu reader
    mkfifo "$work/tap"
    exec 4<>"$work/tap"
    cat "$work/tap" 4>&- &
    reader=$!
    : >"$work/status"
    setpriv --pdeathsig KILL timeout --kill-after=5 "$deadline" setpriv --pdeathsig KILL \
        qemu-system-x86_64 -nodefaults -no-user-config -display none -no-reboot \
        -machine q35 -cpu max -accel "${VM_ACCEL:-tcg,thread=multi}" -smp 2 -m "${VM_MEMORY:-2048}" \
        -kernel "$image/kernel" -initrd "$image/initrd" \
        -append "root=/dev/vda rw console=ttyS0 quiet systemd.unified_cgroup_hierarchy=1 panic=-1" \
        -drive "file=$image/disk,format=raw,if=virtio,snapshot=on" \
        -drive "file=$work/disk,format=raw,if=virtio,read-only=on" \
        -device virtio-rng-pci -device virtio-serial-pci \
        -chardev "file,id=console,path=$work/console" -serial chardev:console \
        -chardev "file,id=tap,path=$work/tap" -device virtserialport,chardev=tap,name=tap \
        -chardev "file,id=status,path=$work/status" -device virtserialport,chardev=status,name=status \
        </dev/null 2>"$work/qemu" 4>&- &
    qemu=$!
    trap 'kill $qemu 2>/dev/null; wait $qemu; exit 143' TERM INT HUP
    wait $qemu || status=$?
    exec 4>&-
    wait $reader

    [ ! -s "$work/status" ] || exit "$(cat "$work/status")"
    { tail -n 60 "$work/console" | tr -d '\r'; grep -v 'KVM\|kvm' "$work/qemu" || true; } | sed 's/^/# /'
    [ $status -ne 124 ] || bail "the machine was still running after $deadline s."
    bail "the machine ended before its tests (status $status)."
}

[ $# -gt 0 ] || bail "no test was named."
command -v qemu-system-x86_64 >/dev/null || skip "qemu-system-x86_64 is missing: packaging/dependencies.sh vm"
find_image
work=$(mktemp -d /var/tmp/actord-vm.XXXXXX)
trap 'rm -rf "$work"' EXIT
pack "$@"
boot
