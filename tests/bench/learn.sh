#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# One update of the learner; then whole jobs in one process, without sandbox, meters or wake-ups: the time of acting and learning alone.
build=${B:-build}
"$build/bench/learn" || exit 1
for seed in 1 2 3; do
        for threads in 1 2; do
                "$build/bench/train-inprocess" examples/cartpole.conf Job.Seed=$seed Learner.Threads=$threads || exit 1
        done
done
