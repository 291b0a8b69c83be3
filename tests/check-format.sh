#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Every C file has the format of clang-format: run `clang-format -i FILE`.
. tests/tap.sh
. tests/sources.sh

command -v clang-format >/dev/null || skip_all "clang-format is missing: packaging/dependencies.sh test"
for room in $(rooms .c .h); do
    mapfile -t files < <(sources .c .h | grep "^$room/")
    check "$room/ is formatted" clang-format --dry-run -Werror "${files[@]}"
done
finish
