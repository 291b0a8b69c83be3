#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The arithmetic that decides a policy gives the same bits on another kind of CPU: a program with it is built for this machine and for
# aarch64, which qemu emulates, and both print the same digests.
. tests/tap.sh

for tool in aarch64-linux-gnu-gcc qemu-aarch64-static; do
    command -v "$tool" >/dev/null || { echo "1..0 # SKIP $tool is missing: install gcc-aarch64-linux-gnu and qemu-user-static"; exit 77; }
done
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT

files=(lib/{network,slot,action,rng,forward,sampler,company,regulation,width,algorithm,algorithm-traits,limits,fragment,fd,environments,directory,kernel,doubles}.c learner/kernel/kernels.c)
digests() { # digests COMPILER [RUNNER...]
    local compiler=$1
    shift
    "$compiler" -std=gnu17 -D_GNU_SOURCE -I. -O2 -ffp-contract=off -fno-math-errno -fno-strict-aliasing -static -o "$build/$compiler" \
        tests/portable/digests.c "${files[@]}" -lm && "$@" "$build/$compiler"
}
same() {
    digests gcc >"$build/here" && digests aarch64-linux-gnu-gcc qemu-aarch64-static >"$build/there" && diff "$build/here" "$build/there"
}

check "draws, inference and learning of aarch64 are those of this machine" same
finish
