#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The cost of each distribution: where acting and learning run.
exec python3 "$(dirname "$0")/distribution.py" "$@"
