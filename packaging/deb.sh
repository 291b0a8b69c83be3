#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Builds the Debian packages of this tree by dpkg-buildpackage, with packaging/debian as the folder debian.
# usage: packaging/deb.sh DIRECTORY [BUILT]
# DIRECTORY is made anew and gets the packages, and actord.spdx.json, which says what they are made of.
# BUILT is a folder with built objects of this tree; they are packed and not compiled again.
set -eu

src=$(cd "$(dirname "$0")/.." && pwd)
out=${1:?usage: packaging/deb.sh DIRECTORY [BUILT]}
built=${2:-}
[ "$built" = "" ] || built=$(cd "$built" && pwd)

for tool in dpkg-buildpackage dh dh_python3; do
    command -v $tool >/dev/null || {
        echo "packaging/deb.sh: $tool is missing: apt install dpkg-dev debhelper dh-python" >&2
        exit 1
    }
done
rm -rf "$out"
mkdir -p "$out/source"
tar --create --file="$out/source.tar" --directory="$src" --exclude=./.git --exclude='./build*' --exclude="./${B:-build}" --exclude='__pycache__' .
tar --extract --file="$out/source.tar" --directory="$out/source"
rm "$out/source.tar"
mv "$out/source/packaging/debian" "$out/source/debian"
cd "$out/source"
options=noautodbgsym${DEB_BUILD_OPTIONS:+ $DEB_BUILD_OPTIONS}
check=--check-builddeps
if [ "$built" ]; then
    options="nocheck nostrip $options"
    check=--no-check-builddeps
fi
# Options of the make that called this (B=, CFLAGS=) are not meant for the package.
env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL B="${built:-build}" DEB_BUILD_OPTIONS="$options" \
    dpkg-buildpackage --unsigned-source --unsigned-changes --build=binary "$check"
cd ..
version=$(sed -n 's/^VERSION := //p' "$src/Makefile")
"$src/packaging/sbom.py" "${built:-source/build}" "$version" >actord.spdx.json
rm -rf source
