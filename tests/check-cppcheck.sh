#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# cppcheck finds nothing. Two kinds of warnings are suppressed, since cppcheck cannot know the facts: leaks, as it does not know cleanup
# attributes (the sanitizers and valgrind find leaks), and unset outputs, as it does not know that -errno is negative and thus a failure.
. tests/tap.sh
. tests/sources.sh

command -v cppcheck >/dev/null || skip_all "cppcheck is missing: packaging/dependencies.sh test"
for room in $(rooms .c | grep -v -e '^tests$' -e '^examples$'); do
    mapfile -t files < <(sources .c | grep "^$room/")
    check "$room/" cppcheck --quiet --enable=warning,performance --inline-suppr --error-exitcode=1 \
        --std=c11 --library=posix,gtk -I. -D_GNU_SOURCE \
        '-DG_GNUC_PRINTF(format,first)=' --suppress=resourceLeak --suppress=memleak --suppress=leakReturnValNotUsed \
        --suppress=ctuuninitvar --suppress=uninitvar --suppress=invalidFunctionArg "${files[@]}"
done
finish
