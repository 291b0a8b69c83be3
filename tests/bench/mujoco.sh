#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# How much of a MuJoCo training is its simulator.
exec python3 "$(dirname "$0")/mujoco_share.py"
