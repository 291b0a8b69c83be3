/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A step of the background work begins when an event source of the lowest priority fires. If it has not
 * fired in time, a timer of the highest priority begins the step. Each step sets the timer again. */
#include "daemon/background.h"

#include <assert.h>
#include "daemon/sources.h"

static void step(Background *background) {
        background->step(background->userdata);
        if (!background->timer)
                return;
        (void) sd_event_source_set_time_relative(background->timer, background->wait_usec);
        (void) sd_event_source_set_enabled(background->timer, SD_EVENT_ONESHOT);
}

static int on_idle(sd_event_source *source, void *userdata) {
        step(userdata);
        return 0;
}

static int on_waited(sd_event_source *source, uint64_t usec, void *userdata) {
        step(userdata);
        return 0;
}

int background_start(Background *background, sd_event *event, const char *name, uint64_t wait_usec,
                void (*step_of)(void *userdata), void *userdata) {
        int r;

        assert(background);
        assert(step_of);

        if (background->idle)
                return 0;
        background->step = step_of;
        background->userdata = userdata;
        background->wait_usec = wait_usec;
        r = repeat_start(event, &background->idle, name, SD_EVENT_PRIORITY_IDLE, on_idle, background);
        if (r < 0)
                return r;
        r = timer_start(event, &background->timer, name, wait_usec, on_waited, background);
        if (r < 0) {
                background_stop(background);
                return r;
        }
        (void) sd_event_source_set_time_accuracy(background->timer, wait_usec / 10);
        (void) sd_event_source_set_priority(background->timer, SD_EVENT_PRIORITY_NORMAL - 1);
        return 0;
}

void background_stop(Background *background) {
        assert(background);

        background->idle = sd_event_source_disable_unref(background->idle);
        background->timer = sd_event_source_disable_unref(background->timer);
}
