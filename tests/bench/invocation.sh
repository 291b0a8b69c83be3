#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# One row of the forward pass, then the whole invocation loop on one core.
build=${B:-build}
"$build/bench/forward" && exec "$build/bench/invocation" "./$build"
