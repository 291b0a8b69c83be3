#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Gradient steps beside what a core reaches, with vectors of eight and, where the CPU has them, of sixteen.
build=${B:-build}
export OPENBLAS_NUM_THREADS=1
OPENBLAS_CORETYPE=Haswell "$build/bench/gradient" avx2 || exit 1
grep -q -w avx512f /proc/cpuinfo || exit 0
OPENBLAS_CORETYPE=SkylakeX exec "$build/bench/gradient" avx512
