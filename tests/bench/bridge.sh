#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What the bridge to Python adds to a step.
exec python3 "$(dirname "$0")/bridge.py"
