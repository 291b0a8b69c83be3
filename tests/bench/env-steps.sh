#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Steps per second of each environment's bare loop on one core.
build=${B:-build}
[ -e "$build/env-mujoco.so" ] && exec "$build/bench/env-steps" "./$build/env-mujoco.so"
exec "$build/bench/env-steps"
