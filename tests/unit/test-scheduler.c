/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Counts within their limits; a state that goes into a checkpoint's row and comes back. */
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "daemon/queue.h"
#include "daemon/scheduler.h"

static JobSettings settings_of(uint32_t actors, uint32_t lowest, uint32_t highest) {
        JobSettings s = { .n_actors = actors, .n_actors_min = lowest, .n_actors_max = highest };

        if (highest > 0)
                s.present[SETTING_Scaling_MaxActors / 64] |= 1ull << (SETTING_Scaling_MaxActors % 64);
        return s;
}

static uint32_t decide(const JobSettings *settings, uint64_t round) {
        SchedulerView view = { .settings = settings, .round = round };
        SchedulerState state;

        scheduler_init(&state, SCHEDULER_FIXED);
        return scheduler_decide(&view, &state).n_actors;
}

static void test_limits(void) {
        JobSettings plain = settings_of(8, 1, 0), cut = settings_of(8, 1, 3), raised = settings_of(2, 4, 16),
                    nonsense = settings_of(2, 9, 3);

        g_assert_cmpuint(decide(&plain, 0), ==, 8);
        g_assert_cmpuint(decide(&plain, 1000), ==, 8);
        g_assert_cmpuint(decide(&cut, 0), ==, 3);
        g_assert_cmpuint(decide(&raised, 0), ==, 4);
        g_assert_cmpuint(decide(&nonsense, 0), ==, 3); /* segments exist for no more than MaxActors= */
}

static void test_state(void) {
        JobSettings settings = settings_of(8, 1, 0);
        SchedulerView view = { .settings = &settings, .round = 4 };
        SchedulerState state, copy;

        scheduler_init(&state, SCHEDULER_FIXED);
        g_assert_cmpuint(scheduler_decide(&view, &state).id, ==, 1);
        g_assert_cmpuint(scheduler_decide(&view, &state).id, ==, 1);
        g_assert_cmpuint(state.decided_round, ==, 5);
        g_assert_false(scheduler_decides(&state));

        g_assert_cmpint(scheduler_restore(&copy, SCHEDULER_FIXED, &state, sizeof(state)), ==, 0);
        g_assert_cmpmem(&copy, sizeof(copy), &state, sizeof(state));

        /* A row that was cut, or is of another version, leaves the state alone. */
        g_assert_cmpint(scheduler_restore(&copy, SCHEDULER_FIXED, &state, sizeof(state) - 1), ==, -EBADMSG);
        g_assert_cmpint(scheduler_restore(&copy, SCHEDULER_FIXED, NULL, 0), ==, -EBADMSG);
        state.abi++;
        g_assert_cmpint(scheduler_restore(&copy, SCHEDULER_FIXED, &state, sizeof(state)), ==, -EBADMSG);
        g_assert_cmpuint(copy.abi, ==, SCHEDULER_ABI);
}

static void test_queue(void) {
        QueueEntry entries[] = {
                { .id = 1, .uid = 1000, .running = true },
                { .id = 2, .uid = 1000, .queued = true },
                { .id = 3, .uid = 1000, .queued = true },
                { .id = 4, .uid = 1001, .queued = true },
        };

        g_assert_cmpint(queue_pick(entries, 0, 4), ==, -1);
        g_assert_cmpint(queue_pick(entries, 4, 1), ==, -1); /* no place */
        g_assert_cmpint(queue_pick(entries, 4, 2), ==, 3);  /* who has nothing running goes first */
        entries[3].queued = false;
        entries[3].running = true;
        g_assert_cmpint(queue_pick(entries, 4, 3), ==, 1); /* of one user's, the oldest */
        entries[0].running = false;
        entries[1].queued = false;
        entries[1].running = true;
        g_assert_cmpint(queue_pick(entries, 4, 3), ==, 2);
        entries[2].queued = false;
        g_assert_cmpint(queue_pick(entries, 4, 9), ==, -1); /* nothing waits */
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/scheduler/limits", test_limits);
        g_test_add_func("/scheduler/state", test_state);
        g_test_add_func("/scheduler/queue", test_queue);
        return g_test_run();
}
