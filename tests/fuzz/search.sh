#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Lets one fuzzer search from its seeds; what it finds interesting is kept in the build, what breaks it is shown.
# usage: tests/fuzz/search.sh FUZZER SECONDS
set -u

fuzzer=$1 name=$(basename "$1")
found=$fuzzer.found
mkdir -p "$found"
echo 1..1
if "$fuzzer" -max_total_time="$2" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$found/crash-" "$found" "tests/fuzz/$name" >"$found.log" 2>&1; then
    echo "ok 1 - $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$found.log") inputs"
else
    echo "not ok 1 - $name"
    tail -n 60 "$found.log" | sed 's/^/# /'
    exit 1
fi
