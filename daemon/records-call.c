/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The records are added up in another Job of the same row, the reader. So the job itself shows whole figures
 * all the time. */
#include "daemon/records-call.h"

#include <assert.h>
#include "daemon/access.h"
#include "daemon/long-call.h"
#include "lib/cleanup.h"

#define PART        256u
#define AT_ONCE_MAX 16u /* parts that are read at once: a few milliseconds */

typedef struct RecordsCall {
        Job *job, *reader;
        JobReplay *replay;
        sd_bus_message_handler_t handler;
} RecordsCall;

static int call_part(void *work) {
        const RecordsCall *call = work;

        /* Another call may have loaded the records meanwhile. */
        return call->job->records_loaded ? 0 : job_replay_some(call->replay, PART);
}

static void call_free(void *p) {
        RecordsCall *call = p;

        (void) job_replay_free(call->replay);
        (void) job_free(call->reader);
        g_free(call);
}

DEFINE_CLEANUP(RecordsCall *, call_free)

static int not_read(sd_bus_error *error, int r) {
        return sd_bus_error_set_errnof(
                        error, r, "The ledger's records could not be read: %s.", ledger_error_words(r));
}

static int answer(sd_bus_message *m, int result, const RecordsCall *call, sd_bus_error *error) {
        int r;

        if (result < 0)
                return not_read(error, result);
        job_take_records(call->job, call->reader);
        r = sd_bus_message_rewind(m, true);
        return r < 0 ? r : call->handler(m, call->job, error);
}

static int call_answer(sd_bus_message *m, int result, void *work) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        int r;

        r = answer(m, result, work, &error);
        return r < 0 ? sd_bus_reply_method_errno(m, r, &error) : r;
}

static int call_new(Job *job, sd_bus_message_handler_t handler, RecordsCall **ret) {
        RecordsCall *call;
        Job *reader;
        int r;

        r = job_of_row(job->context, job->row.id, &reader);
        if (r < 0)
                return r;
        call = g_new(RecordsCall, 1);
        *call = (RecordsCall){ job, reader, job_replay_new(reader), handler };
        *ret = call;
        return 0;
}

int records_wanted(Job *job, sd_bus_message *m, sd_bus_message_handler_t handler, sd_bus_error *error) {
        static const LongCallOps ops = { .part = call_part, .answer = call_answer, .free = call_free };
        _cleanup_(call_freep) RecordsCall *call = NULL;
        uint32_t uid;
        int r;

        assert(job);
        assert(handler);

        if (job->records_loaded || job->state != JOB_ENDED) {
                r = job_load_records(job);
                return r < 0 ? not_read(error, r) : 1;
        }
        r = access_uid(job->context->access, m, &uid, error);
        if (r < 0)
                return r;
        r = call_new(job, handler, &call);
        for (unsigned i = 0; r >= 0 && i < AT_ONCE_MAX; i++) {
                r = call_part(call);
                if (r == 0) {
                        job_take_records(job, call->reader);
                        return 1;
                }
        }
        if (r < 0)
                return not_read(error, r);
        r = long_call_start(job, m, uid, &ops, TAKE_PTR(call), error);
        return r < 0 ? r : 0;
}
