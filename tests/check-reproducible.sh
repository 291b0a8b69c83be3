#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Two builds in different folders, one after the other, are the same byte for byte.
# usage: tests/check-reproducible.sh [TARGET]...     ("all" of make; without any, a few files of each kind)
. tests/tap.sh

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CCACHE_DISABLE=1 # its answer would be the first build's
unset B ACTORD_BUILD MAKEFLAGS MFLAGS

copy() { # copy DIRECTORY    of what is built from
    mkdir -p "$1"
    tar --create --exclude='./build*' --exclude=./.git . | tar --extract --directory="$1"
}

build() { # build DIRECTORY TARGET...
    make --directory="$1" -s --no-print-directory -j"$(nproc)" B=build "${@:2}"
}

listing() { # listing DIRECTORY    of everything that was made
    (cd "$1/build" && find . -type f ! -name '*.d' -exec sha256sum {} + | sort -k 2)
}

# A C file of each side with its debugging information, one in C++, and a module that carries a file.
[ $# -gt 0 ] || set -- build/o/lib/settings/settings.o build/o/daemon/log.o build/o/actor/envs/box2d/world.o build/env-swmm.so

first=$work/a second=$work/somewhere-else/b
check "a copy of the tree" copy "$first"
check "and another one" copy "$second"
check "the first is built" build "$first" "$@"
check "the second is built" build "$second" "$@"
check "something was made" test -n "$(listing "$first")"
is "both are the same, byte for byte" "$(diff <(listing "$first") <(listing "$second"))" ""
refuse "neither says where it was built" grep -rlF "$work" "$first/build" "$second/build" --exclude='*.d'
finish
