#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What a round's measurements of curvature and noise cost the learner.
exec "${B:-build}/bench/curvature"
