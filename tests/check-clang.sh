#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Clang builds what GCC builds: without a warning, with every symbol in its place, and to the same policies.
# usage: tests/check-clang.sh [all]     (without `all`: the files that are compiled for several kinds of processors, and what calls them)
. tests/tap.sh

command -v clang >/dev/null && command -v clang++ >/dev/null || skip_all "clang is missing: packaging/dependencies.sh test"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset MAKEFLAGS MFLAGS
built=${B:-build}

silently() { # silently COMMAND...    it succeeds, and says nothing
    local said
    said=$("$@" 2>&1) && [ -z "$said" ] && return 0
    echo "$said"
    return 1
}

policy() { # policy BUILD    of a short run
    XDG_STATE_HOME=$work/state "$1/actorctl" run examples/cartpole.conf --set Job.StopSteps=4000 --json 2>/dev/null |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["policy_sha256"])'
}

with_clang() { # with_clang BUILD TARGET...
    silently make -s --no-print-directory -j"$(nproc)" CC=clang CXX=clang++ B="$1" "${@:2}"
}

if [ "${1:-}" = all ]; then
    check "everything is built, without a warning" with_clang build-clang all
    is "the policy is the one of $built" "$(policy build-clang)" "$(policy "$built")"
    finish
    exit
fi

objects=("$work/build/o/learner/kernel/kernels.o" "$work/build/o/learner/kernel/convolution.o" "$work/build/o/lib/forward.o"
         "$work/build/o/lib/kernel.o" "$work/build/o/lib/width.o")
cat >"$work/main.c" <<'END'
#include "learner/kernel/kernels.h"
int main(void) {
        float x[16] = { 1 }, y[16] = { 2 }, *parts[] = { x, y };
        double squares[KERNEL_LANES] = { 0 };

        kernel_parts_add(parts, 2, 0, 16, squares);
        return squares[0] == 9 && x[0] == 3 ? 0 : 1;
}
END
check "kernels are compiled, without a warning" with_clang "$work/build" "${objects[@]}"
check "what calls them is linked" clang -std=gnu17 -I. -o "$work/main" "$work/main.c" "$work"/build/o/{learner/kernel/kernels,lib/kernel,lib/width}.o -lm
check "and comes to the right numbers" "$work/main"
finish
