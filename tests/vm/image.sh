#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Makes the virtual machine's disk, kernel and initial root: Debian 12 from the mirrors that this machine uses.
# usage: tests/vm/image.sh DIRECTORY      (an existing DIRECTORY/complete means that there is nothing to do)
set -euo pipefail

here=$(dirname "$0")
into=$1
[ ! -e "$into/complete" ] || exit 0

# Where apt fetches Debian's own packages here; mmdebstrap's default where apt cannot say.
mirrors() {
    apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' \
        'Created-By: Packages' 'Origin: Debian' 'Codename: bookworm*' 2>/dev/null |
        awk '$3 == "main" { print "deb " $1 " " $2 " main" }' | sort -u
}

work=$(mktemp -d /var/tmp/actord-vm.XXXXXX)
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 1' HUP INT TERM

# One driver each for disk and file system instead of all: the initial root is a tenth of the size.
cat >"$work/settle" <<'END'
#!/bin/sh
set -e
mkdir -p "$1/etc/initramfs-tools/conf.d"
echo MODULES=list >"$1/etc/initramfs-tools/conf.d/actord"
printf '%s\n' virtio_pci virtio_blk ext4 >"$1/etc/initramfs-tools/modules"
printf 'path-exclude=%s\n' '/usr/share/doc/*' '/usr/share/man/*' '/usr/share/locale/*' >"$1/etc/dpkg/dpkg.cfg.d/actord"
END
chmod +x "$work/settle"

packages=$(sed 's/#.*//' "$here/packages" | xargs | tr ' ' ',')
mkdir -p "$into"
mirrors >"$work/sources"
[ -s "$work/sources" ] || echo "deb http://deb.debian.org/debian bookworm main" >"$work/sources"

echo "# tests/vm: making the image, once ($into)"
mmdebstrap --quiet --variant=minbase --include="$packages" --aptopt='APT::Install-Recommends "false"' \
    --essential-hook="$work/settle"' "$1"' \
    --customize-hook='cp -r tests/vm/root/. "$1/"' \
    --customize-hook='chroot "$1" systemctl enable actord-tests.service' \
    --customize-hook='chroot "$1" systemctl mask apt-daily.timer apt-daily-upgrade.timer \
        e2scrub_all.timer e2scrub_reap.service getty@tty1.service serial-getty@ttyS0.service' \
    --customize-hook='echo actord-vm >"$1/etc/hostname"' \
    --customize-hook='mkdir "$1/src"' \
    bookworm "$work/root" - <"$work/sources" 2>"$work/log" || {
    sed 's/^/# /' "$work/log"
    exit 1
}

cp "$work"/root/boot/vmlinuz-* "$into/kernel"
cp "$work"/root/boot/initrd.img-* "$into/initrd"
rm -rf "$work"/root/boot/*
truncate --size=3G "$work/disk"
mkfs.ext4 -q -F -d "$work/root" "$work/disk"
cp --sparse=always "$work/disk" "$into/disk"
touch "$into/complete"
