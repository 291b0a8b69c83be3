#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The cost of policies that read images: an actor's forward pass of one frame, and a learner's update.
build=${B:-build}
"$build/bench/images" || exit 1
