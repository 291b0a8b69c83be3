/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* GetSeries: a job's rounds as rows of numbers, with a name for each column. One list, so that a program
 * that reads a column by its name goes on working when there are more of them. Pure. */
#pragma once

#include <stddef.h>
#include "daemon/ledger/ledger.h"
#include "daemon/progress.h"

size_t series_columns(void);
const char *series_name(size_t column);
/* ret: one number a column. NaN: not measured. */
void series_row(const LedgerRound *round, const Accrual *accrual, double *ret);
