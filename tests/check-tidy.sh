#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# clang-tidy finds nothing with the checks that .clang-tidy enables. make knows which files have changed since they were last read.
. tests/tap.sh
. tests/sources.sh

command -v clang-tidy >/dev/null || skip_all "clang-tidy is missing: packaging/dependencies.sh test"
build=${B:-build}
unset MAKEFLAGS MAKELEVEL MFLAGS
for room in $(rooms .c | grep -v -e '^tests$' -e '^examples$'); do
    mapfile -t files < <(sources .c | sed -n "s|^\($room/.*\)\.c\$|$build/tidy/\1.ok|p")
    check "$room/" make -k -s -j"$(nproc)" B="$build" "${files[@]}"
done
finish
