/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Scores by the place of the newest value within a window of the last ones, as Nitro has them (Yu et al.,
 * PVLDB 18(1), 2024, section 4). */
#pragma once

#include <stdint.h>
#include "daemon/scheduler/scheduler.h"

#define WINDOW_MAX 64u

typedef struct Window {
        uint64_t n; /* values seen; the newest Window= of them lie at i % size */
        double values[WINDOW_MAX];
} Window;
static_assert(sizeof(Window) <= sizeof(((SchedulerState *) 0)->own), "it must fit");

/* A value that is not finite is ignored. */
void window_add(Window *window, uint32_t size, double value);

/* (max - value) / (max - min) of what is in it; 0 while all its values are one. */
double window_highness(const Window *window, uint32_t size, double value); /* (value - min) / (max - min) */

/* The paper's formula for the round to be decided, k: I = clip(Imax S), S = (Rmax - R) / (Rmax - Rmin)
 * d^k. R is put into the window of the state first; if it is not finite the score is 0. */
uint32_t window_count(const SchedulerView *view, SchedulerState *state, double r);
