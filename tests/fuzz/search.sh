#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Lets one fuzzer search from its seeds. Interesting inputs are kept in the build, and inputs that break it are shown. Its
# seeds must reach more code than an empty input does: else the fuzzer does not reach the code that it is for.
# usage: tests/fuzz/search.sh FUZZER SECONDS
set -u
. tests/tap.sh

fuzzer=$1 name=$(basename "$1")
found=$fuzzer.found
command -v clang >/dev/null || skip_all "clang is missing: packaging/dependencies.sh test"

edges() { # edges FOLDER...    how many the inputs there reach
    "$fuzzer" -runs=0 -artifact_prefix="$fuzzer.broken-" "$@" 2>&1 | sed -n 's/^#.* cov: \([0-9]*\).*/\1/p' | tail -n 1
}

search() {
    "$fuzzer" -max_total_time="$1" -timeout=60 -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$fuzzer.broken-" \
        "$found" "tests/fuzz/$name" >"$found.log" 2>&1 || {
        tail -n 60 "$found.log"
        return 1
    }
}

mkdir -p "$found"
empty=$(mktemp -d)
trap 'rmdir "$empty"' EXIT
without=$(edges "$empty") with=$(edges "tests/fuzz/$name")
[ "${with:-0}" -gt "${without:-0}" ]
tap_point $? "$name: its seeds reach ${with:-no} edges, no input ${without:-none}"
check "$name: nothing breaks within $2 s" search "$2"
echo "# $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$found.log") inputs, $(sed -n 's/^#.* cov: \([0-9]*\).*/\1/p' "$found.log" | tail -n 1) edges"
finish
