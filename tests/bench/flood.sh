#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What one user's flood of calls costs another user; FLOOD_CLIENTS=120 for a larger one.
exec python3 "$(dirname "$0")/flood.py" "${FLOOD_CLIENTS:-60}"
