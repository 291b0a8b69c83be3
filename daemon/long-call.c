/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/job.h"

#include <assert.h>
#include <time.h>
#include "include/bus.h"

#define TURN_NSEC UINT64_C(5000000)
/* While other calls keep the daemon busy, a long call waits at most this long for its turn. So it gets about
 * a sixth of the time. */
#define WAIT_MAX_USEC 25000

typedef struct LongCall {
        Job *job;
        uint32_t uid;
        sd_bus_message *message;
        const LongCallOps *ops;
        void *work;
} LongCall;

static void long_call_free(LongCall *call) {
        call->job->n_long_calls--;
        call->message = sd_bus_message_unref(call->message);
        call->ops->free(call->work);
        g_free(call);
}

static uint64_t now_nsec(void) {
        struct timespec t;

        (void) clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

static void answer(LongCall *call, int result) {
        int r;

        r = call->ops->answer(call->message, result, call->work);
        if (r < 0)
                (void) sd_bus_reply_method_errno(call->message, r, NULL);
        long_call_free(call);
}

static void take_turn(void *userdata) {
        JobContext *context = userdata;
        LongCall *call = g_queue_pop_head(&context->long_calls.calls);
        uint64_t end = now_nsec() + TURN_NSEC;
        int r;

        do
                r = call->ops->part(call->work);
        while (r > 0 && now_nsec() < end);
        if (r > 0)
                g_queue_push_tail(&context->long_calls.calls, call);
        else
                answer(call, r);
        if (g_queue_is_empty(&context->long_calls.calls))
                background_stop(&context->long_calls.turns);
}

static int check_room(const JobContext *context, uint32_t uid, sd_bus_error *error) {
        unsigned n = 0;

        for (const GList *l = context->long_calls.calls.head; l; l = l->next)
                n += ((const LongCall *) l->data)->uid == uid;
        if (n >= LONG_CALLS_USER_MAX)
                return sd_bus_error_setf(error, BUS_ERROR(Busy),
                                "%u of your calls that read the records of jobs are not answered yet: "
                                "try again in a moment.",
                                n);
        if (context->long_calls.calls.length >= LONG_CALLS_MAX)
                return sd_bus_error_setf(error, BUS_ERROR(Busy),
                                "%u calls that read the records of jobs are not answered yet: try again "
                                "in a moment.",
                                context->long_calls.calls.length);
        return 0;
}

int long_call_start(Job *job, sd_bus_message *m, uint32_t uid, const LongCallOps *ops, void *work,
                sd_bus_error *error) {
        JobContext *context;
        LongCall *call;
        int r;

        assert(job);
        assert(m);
        assert(ops);

        context = job->context;
        r = check_room(context, uid, error);
        if (r >= 0)
                r = background_start(&context->long_calls.turns, context->event, "long-calls", WAIT_MAX_USEC,
                                take_turn, context);
        if (r < 0) {
                ops->free(work);
                return r;
        }
        call = g_new(LongCall, 1);
        *call = (LongCall){
                .job = job, .uid = uid, .message = sd_bus_message_ref(m), .ops = ops, .work = work
        };
        job->n_long_calls++;
        g_queue_push_tail(&context->long_calls.calls, call);
        return 1;
}

void long_calls_done(JobContext *context) {
        LongCall *call;

        assert(context);

        while ((call = g_queue_pop_head(&context->long_calls.calls)))
                long_call_free(call);
        background_stop(&context->long_calls.turns);
}
