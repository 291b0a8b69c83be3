/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/job-alert.h"

#include <assert.h>
#include <inttypes.h>
#include "lib/cleanup.h"

#define SYSTEMD_NAME    "org.freedesktop.systemd1"
#define SYSTEMD_PATH    "/org/freedesktop/systemd1"
#define SYSTEMD_MANAGER "org.freedesktop.systemd1.Manager"

uint32_t alerts_reached(const setting_amounts *amounts, uint64_t full_nano) {
        uint32_t n = 0;

        assert(amounts);

        while (n < amounts->n && full_nano >= amounts->nano[n])
                n++;
        return n;
}

static void say_alert(const Job *job, uint64_t amount_nano, uint64_t full_nano) {
        const char *currency = price_sheet_currency(job->sheet);
        LogEntry entry;

        job_log_begin(&entry, job, MESSAGE_COST_ALERT);
        log_field(&entry, "ACTORD_AMOUNT=%.9f", (double) amount_nano / 1e9);
        log_field(&entry, "ACTORD_COST_FULL=%.9f", (double) full_nano / 1e9);
        log_field(&entry, "ACTORD_CURRENCY=%s", currency);
        log_field(&entry, "ACTORD_TAG=%s", job->settings.tag);
        log_send(&entry, LOG_WARNING, "Job %" PRIu64 " has cost %.9f %s, and so has reached CostAlert=%.9f.",
                        job->row.id, (double) full_nano / 1e9, currency, (double) amount_nano / 1e9);
}

void job_alert(Job *job) {
        const setting_amounts *amounts;
        uint64_t full_nano;
        uint32_t n;

        assert(job);

        amounts = &job->settings.cost_alert;
        if (job->row.n_alerts >= amounts->n)
                return;
        full_nano = bill_full_nano(&job->progress.usage, job->sheet, &job->settings);
        n = alerts_reached(amounts, full_nano);
        if (n <= job->row.n_alerts)
                return;
        for (uint64_t i = job->row.n_alerts; i < n; i++)
                say_alert(job, amounts->nano[i], full_nano);
        job->row.n_alerts = n;
        /* If the ledger cannot be written now, it gets the number of reached amounts when the cost reaches
         * the next one. */
        (void) ledger_job_alerted(job->context->ledger, job->row.id, n);
}

typedef struct UnitCall {
        uint64_t job;
        char *unit;
} UnitCall;

static void unit_call_free(void *p) {
        UnitCall *call = p;

        g_free(call->unit);
        g_free(call);
}

static void say_unit(const UnitCall *call, const char *reason) {
        LogEntry entry;

        log_begin(&entry, MESSAGE_UNIT_REQUESTED);
        log_field(&entry, "ACTORD_JOB=%" PRIu64, call->job);
        log_field(&entry, "ACTORD_UNIT=%s", call->unit);
        log_field(&entry, "ACTORD_REASON=%s", reason ? reason : "it starts");
        if (reason)
                log_send(&entry, LOG_WARNING, "OnEnd=%s of job %" PRIu64 " was not started: %s.", call->unit,
                                call->job, reason);
        else
                log_send(&entry, LOG_INFO, "OnEnd=%s of job %" PRIu64 " starts.", call->unit, call->job);
}

static int on_unit(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        const sd_bus_error *e = sd_bus_message_get_error(m);

        say_unit(userdata, e ? e->message : NULL);
        return 0;
}

/* Replaces %j and %r in OnEnd=; the parser allows no others. g_free(). */
static char *unit_name(const Job *job) {
        g_autofree char *number = g_strdup_printf("%" PRIu64, job->row.id);
        GString *name = g_string_new(job->settings.on_end);

        (void) g_string_replace(name, "%j", number, 0);
        (void) g_string_replace(name, "%r", job->row.result, 0);
        return g_string_free(name, FALSE);
}

void job_start_unit(const Job *job) {
        _cleanup_(sd_bus_slot_unrefp) sd_bus_slot *slot = NULL;
        UnitCall *call;
        int r;

        assert(job);

        if (!job->settings.on_end[0] || job->row.purpose != LAUNCH_TRAIN ||
                        job->context->mode != DAEMON_USER || !job->context->bus)
                return;
        call = g_new(UnitCall, 1);
        *call = (UnitCall){ job->row.id, unit_name(job) };
        r = sd_bus_call_method_async(job->context->bus, &slot, SYSTEMD_NAME, SYSTEMD_PATH, SYSTEMD_MANAGER,
                        "StartUnit", on_unit, call, "ss", call->unit, "replace");
        if (r < 0) {
                say_unit(call, g_strerror(-r));
                unit_call_free(call);
                return;
        }
        /* From here on the bus owns the slot. When the bus frees the slot, it frees the UnitCall, too. */
        (void) sd_bus_slot_set_destroy_callback(slot, unit_call_free);
        (void) sd_bus_slot_set_floating(slot, 1);
}
