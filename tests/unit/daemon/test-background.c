/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Background work goes on when there is nothing else to do, and even when the event loop is never idle. */
#include "daemon/background.h"

#include <errno.h>
#include <glib.h>
#include <stdbool.h>
#include "daemon/sources.h"

#define PATIENCE_USEC (60ull * 1000 * 1000)
#define N_STEPS       3u

typedef struct Fixture {
        sd_event *event;
        sd_event_source *calls, *too_late;
        Background background;
        unsigned n_steps, n_calls;
} Fixture;

static void step(void *userdata) {
        Fixture *f = userdata;

        if (++f->n_steps < N_STEPS)
                return;
        background_stop(&f->background);
        (void) sd_event_exit(f->event, 0);
}

static int on_call(sd_event_source *source, void *userdata) {
        Fixture *f = userdata;

        f->n_calls++;
        return 0;
}

static int on_too_late(sd_event_source *source, uint64_t usec, void *userdata) {
        Fixture *f = userdata;

        return sd_event_exit(f->event, -ETIMEDOUT);
}

static void open_fixture(Fixture *f) {
        *f = (Fixture){};
        g_assert_cmpint(sd_event_new(&f->event), ==, 0);
        g_assert_cmpint(timer_start(f->event, &f->too_late, "too-late", PATIENCE_USEC, on_too_late, f), >=,
                        0);
        g_assert_cmpint(background_start(&f->background, f->event, "work", BACKGROUND_USEC, step, f), >=, 0);
}

static void close_fixture(Fixture *f) {
        background_stop(&f->background);
        f->calls = sd_event_source_disable_unref(f->calls);
        f->too_late = sd_event_source_disable_unref(f->too_late);
        f->event = sd_event_unref(f->event);
}

static void test_idle(void) {
        Fixture f;

        open_fixture(&f);
        g_assert_cmpint(sd_event_loop(f.event), ==, 0);
        g_assert_cmpuint(f.n_steps, ==, N_STEPS);
        close_fixture(&f);
}

/* Background work goes on although a call comes in each turn of the loop. */
static void test_busy(void) {
        Fixture f;

        open_fixture(&f);
        g_assert_cmpint(repeat_start(f.event, &f.calls, "calls", SD_EVENT_PRIORITY_NORMAL, on_call, &f), >=,
                        0);
        g_assert_cmpint(sd_event_loop(f.event), ==, 0);
        g_assert_cmpuint(f.n_steps, ==, N_STEPS);
        g_assert_cmpuint(f.n_calls, >, N_STEPS);
        close_fixture(&f);
}

/* Background work that is started twice runs once. Stopped work makes no step and can be started again. */
static void test_stopped(void) {
        Fixture f;

        open_fixture(&f);
        g_assert_cmpint(background_start(&f.background, f.event, "work", BACKGROUND_USEC, step, NULL), ==,
                        0);
        background_stop(&f.background);
        g_assert_cmpint(sd_event_run(f.event, 0), ==, 0);
        g_assert_cmpuint(f.n_steps, ==, 0);
        g_assert_cmpint(background_start(&f.background, f.event, "work", BACKGROUND_USEC, step, &f), >=, 0);
        g_assert_cmpint(sd_event_loop(f.event), ==, 0);
        g_assert_cmpuint(f.n_steps, ==, N_STEPS);
        close_fixture(&f);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/background/idle", test_idle);
        g_test_add_func("/background/busy", test_busy);
        g_test_add_func("/background/stopped", test_stopped);
        return g_test_run();
}
