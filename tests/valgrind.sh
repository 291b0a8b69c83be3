#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Runs the control side under valgrind: the daemon while it serves, queues, stops, refuses to start and loses its bus; its parts alone;
# and its parsers with every seed of the fuzzers. Errors and definite leaks count.
. tests/tap.sh

build=${B:-build}
command -v valgrind >/dev/null || skip_all "valgrind is missing: packaging/dependencies.sh test"
valgrind=(valgrind --quiet --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite --show-leak-kinds=definite)

for name in settings ledger lease price progress files log plan scheduler; do
    check "$name" "${valgrind[@]}" "$build/tests/test-$name"
done
for name in settings submit; do
    check "any bytes: $name" "${valgrind[@]}" "$build/fuzz/fuzz-$name"
done
for name in interface refusals error_names queue stopping second_daemon idle lost_bus; do
    check "the daemon: $name" env ACTORD_WRAP="${valgrind[*]}" ACTORD_BUILD="$(realpath "$build")" \
        python3 tests/integration/test-daemon.py "$name"
done
finish
