#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What one decision of each scheduling policy costs. Limit: 100 us.
exec "${B:-build}/bench/schedulers"
