/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Scores the newest value: its place between the lowest and the highest value of a window, as in Nitro (Yu
 * et al., PVLDB 18(1), 2024, section 4). */
#pragma once

#include <stdint.h>
#include "daemon/scheduler/scheduler.h"

#define WINDOW_MAX 64u

typedef struct Window {
        uint64_t n; /* values so far; value i is at i % Window=, while it is among the newest */
        double values[WINDOW_MAX];
} Window;
static_assert(sizeof(Window) <= sizeof(((SchedulerState *) 0)->own), "it must fit");

/* Adds a value; one that is not finite is ignored. */
void window_add(Window *window, uint32_t size, double value);

/* (value - min) / (max - min) over the window; 0 if all values are equal. */
double window_highness(const Window *window, uint32_t size, double value);

/* The paper's number of actors for the next round k, counted from 1: clip(Imax S), where the score S is
 * (Rmax - r) / (Rmax - Rmin) Decay^k, Imax is the highest number, and Rmin and Rmax are the ends of the
 * state's window. r is added to the window first. If r is not finite, S is 0. */
uint32_t window_count(const SchedulerView *view, SchedulerState *state, double r);
