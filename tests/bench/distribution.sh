#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What it costs where fragments run.
exec python3 "$(dirname "$0")/distribution.py" "$@"
