#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The libraries that each program may link: the fewer a program has, the less code a hostile actor can reach.
. tests/tap.sh

build=${B:-build}
only() { # only PROGRAM LIBRARY...
    local program=$build/$1 needed
    shift
    [ -f "$program" ] || { echo "$program is not built"; return 1; }
    needed=$(readelf --dynamic --wide "$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\.so.*\].*/\1/p' |
        grep -vxE "libc|libm|ld-linux-x86-64|ld-linux-aarch64$(printf '|%s' "$@")")
    [ -z "$needed" ] || { echo "links also: $needed"; return 1; }
}

check "actord-invoker, and with it every actor" only actord-invoker libseccomp libcap
check "actord-spawn" only actord-spawn libsystemd libcap
check "actord-learner" only actord-learner libnettle libseccomp
check "actord (libnettle: the digest of a policy for Shares=)" only actord libglib-2.0 libsystemd libsqlite3 libnettle
check "actorctl" only actorctl libglib-2.0 libgobject-2.0 libgio-2.0 libsystemd libjson-glib-1.0 libsmartcols libyaml-0 libnettle
finish
