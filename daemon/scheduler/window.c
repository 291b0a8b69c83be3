/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The last values that a scheduler has seen (its window), and the score of a value among them. */
#include "daemon/scheduler/window.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "lib/doubles.h"

void window_add(Window *window, uint32_t size, double value) {
        assert(window);
        assert(size > 0 && size <= WINDOW_MAX);

        if (!isfinite(value))
                return;
        window->values[window->n % size] = value;
        window->n++;
}

static bool window_bounds(const Window *window, uint32_t size, double *ret_lowest, double *ret_highest) {
        uint64_t n = window->n < size ? window->n : size;
        double lowest = INFINITY, highest = -INFINITY;

        assert(size > 0 && size <= WINDOW_MAX);

        for (uint64_t i = 0; i < n; i++) {
                lowest = fmin(lowest, window->values[i]);
                highest = fmax(highest, window->values[i]);
        }
        *ret_lowest = lowest;
        *ret_highest = highest;
        return highest > lowest;
}

/* (max - value) / (max - min). All are halved first, since a difference may exceed the largest double. */
static double window_lowness(const Window *window, uint32_t size, double value) {
        double lowest, highest;

        if (!window_bounds(window, size, &lowest, &highest))
                return 0;
        return (highest / 2 - value / 2) / (highest / 2 - lowest / 2);
}

double window_highness(const Window *window, uint32_t size, double value) {
        double lowest, highest;

        if (!window_bounds(window, size, &lowest, &highest))
                return 0;
        return (value / 2 - lowest / 2) / (highest / 2 - lowest / 2);
}

uint32_t window_count(const SchedulerView *view, SchedulerState *state, double r) {
        const JobSettings *settings = view->settings;
        double score = 0;
        Window window;

        memcpy(&window, state->own, sizeof(window));
        window_add(&window, settings->window, r);
        memcpy(state->own, &window, sizeof(window));

        if (isfinite(r))
                score = window_lowness(&window, settings->window, r) *
                        double_power(settings->decay, view->round + 1);
        return scheduler_clip(settings, scheduler_highest(settings) * score);
}
