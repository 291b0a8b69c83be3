#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What a round's measurements of curvature and noise cost the learner.
OPENBLAS_CORETYPE="${OPENBLAS_CORETYPE:-SkylakeX}"
export OPENBLAS_CORETYPE
grep -q avx512 /proc/cpuinfo || unset OPENBLAS_CORETYPE
exec "${B:-build}/bench/curvature"
