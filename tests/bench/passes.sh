#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What two passes of a consistency policy cost, beside five of a diffusion.
build=${B:-build}
exec "$build/bench/passes"
