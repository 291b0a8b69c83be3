/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Scores the newest value: its place between the lowest and the highest value of a window, as in Nitro (Yu
 * et al., PVLDB 18(1), 2024, section 4). */
#pragma once

#include <stdint.h>
#include "daemon/scheduler/scheduler.h"

#define WINDOW_MAX 64u

typedef struct Window {
        uint64_t n; /* values so far; the newest Window= of them are at i % size */
        double values[WINDOW_MAX];
} Window;
static_assert(sizeof(Window) <= sizeof(((SchedulerState *) 0)->own), "it must fit");

/* A value that is not finite is ignored. */
void window_add(Window *window, uint32_t size, double value);

/* (max - value) / (max - min) over the window; 0 if all values are equal. */
double window_highness(const Window *window, uint32_t size, double value); /* (value - min) / (max - min) */

/* The paper's formula for the next round, k: I = clip(Imax S), S = (Rmax - R) / (Rmax - Rmin) d^k. First R
 * is put into the window of the state; if R is not finite the score is 0. */
uint32_t window_count(const SchedulerView *view, SchedulerState *state, double r);
