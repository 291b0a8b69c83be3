/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* GetBill: the cost of a job. GetBillUnder: its cost by another price sheet. GetBeside: its cost as
 * functions, on servers and on a cluster. GetEstimates: its cost under other distributions. GetFleets: its
 * cost on fleets of servers. GetSchedulerBill: the cost of training the job's scheduler. */
#include "daemon/commit.h"
#include "daemon/job-bus.h"
#include "daemon/job.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "daemon/access.h"
#include "daemon/audience.h"
#include "daemon/bill/beside.h"
#include "daemon/bill/compare.h"
#include "daemon/long-call.h"
#include "daemon/records-call.h"
#include "daemon/reply.h"
#include "include/bus.h"
#include "include/launch.h"
#include "include/minions.h"
#include "lib/cleanup.h"
#include "lib/settings/print.h"
#include "lib/sheets.h"

#define RECORDS_PART 256u

DEFINE_CLEANUP(PriceSheet *, price_sheet_free)

static int append_lines(sd_bus_message *reply, const Bill *bill) {
        int r;

        r = sd_bus_message_open_container(reply, 'a', "(sdsdb)");
        if (r < 0)
                return r;
        for (size_t i = 0; i < bill->n_lines; i++) {
                r = sd_bus_message_append(reply, "(sdsdb)", charge_to_string(bill->lines[i].charge),
                                bill->lines[i].quantity, bill->lines[i].unit, bill->lines[i].amount,
                                (int) bill->lines[i].paper);
                if (r < 0)
                        return r;
        }
        return r;
}

/* Loads the job's sums, unless they are loaded. Without this check, a job whose records cannot be read would
 * have a bill of zero. */
static int load_sums(Job *job, sd_bus_error *error) {
        int r;

        r = job_load_summary(job);
        return r < 0 ? sd_bus_error_set_errnof(error, r,
                                       "The records of job %" PRIu64 " could not be read: %s.", job->row.id,
                                       ledger_error_words(r))
                     : 0;
}

int method_get_bill(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Job *job = userdata;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        Bill bill;
        int r;

        r = load_sums(job, error);
        if (r < 0)
                return r;
        bill_make(&job->progress.usage, job->sheet, &job->settings, &bill);
        r = sd_bus_message_new_method_return(m, &reply);
        if (r < 0)
                return r;
        r = sd_bus_message_append(reply, "ssdd", price_sheet_currency(job->sheet),
                        price_sheet_name(job->sheet), bill.paper, bill.full);
        if (r < 0)
                return r;
        r = append_lines(reply, &bill);
        return r < 0 ? r : reply_send(reply);
}

/* Reads a sheet that the caller named; the error says why it cannot be read. */
static int read_sheet(const char *name, PriceSheet **ret, sd_bus_error *error) {
        g_autofree char *text = NULL, *message = NULL;
        int r;

        r = sheets_read(name, &text);
        if (r < 0)
                return reply_no_sheet(error, name, r);
        r = price_sheet_parse(text, name, ret, &message);
        return r < 0 ? sd_bus_error_set(error, BUS_ERROR(BadPriceSheet), message) : 0;
}

/* A call that reads all records of a job, perhaps a million. The job stays in memory until the answer is
 * sent. */
typedef struct BillCall {
        JobReplay *replay;
        const Job *job;
        /* the price sheets that the caller named. sheet NULL: the job's own; servers NULL: `sheet` */
        PriceSheet *sheet, *servers;
        char *name;           /* GetFleets: the name of the one sheet; "": all sheets */
        JobSettings settings; /* the settings by which the records are billed */
        Usage usage;          /* for GetBillUnder */
        Beside beside;        /* for GetBeside and GetFleets */
} BillCall;

static const PriceSheet *call_sheet(const BillCall *call) {
        return call->sheet ? call->sheet : call->job->sheet;
}

static int bill_call_part(void *work) {
        return job_replay_some(((const BillCall *) work)->replay, RECORDS_PART);
}

static void bill_call_free(void *p) {
        BillCall *call = p;

        (void) job_replay_free(call->replay);
        (void) price_sheet_free(call->sheet);
        (void) price_sheet_free(call->servers);
        g_free(call->name);
        g_free(call);
}

DEFINE_CLEANUP(BillCall *, bill_call_free)

static BillCall *bill_call_new(const Job *job) {
        BillCall *call = g_new0(BillCall, 1);

        call->job = job;
        rebill_settings(&job->settings, &call->settings);
        return call;
}

/* Adds a record to the call's Usage. */
static void call_add_usage(const Record *record, void *userdata) {
        BillCall *call = userdata;

        usage_add(&call->usage, call_sheet(call), &call->settings, record);
}

/* Adds a record to the comparison that the call asks for. */
static void call_add_beside(const Record *record, void *userdata) {
        BillCall *call = userdata;

        beside_add(&call->beside, call_sheet(call), &call->settings, record);
}

/* Commits the job's records first: a bill is made from the ledger, which then also has the newest records of
 * a running job. */
static int commit_records(const Job *job, sd_bus_error *error) {
        JobContext *context = job->context;
        int r;

        if (ledger_n_pending_of(context->ledger, job->row.id) == 0)
                return 0;
        r = context->ledger_blocked ? -context->ledger_blocked : commit_now(context);
        return r < 0 ? sd_bus_error_set_errnof(error, r,
                                       "The newest records of job %" PRIu64 " cannot be written to the "
                                       "ledger in %s (%s), and its bill would lack them: try again when "
                                       "the ledger can be written.",
                                       job->row.id, context->state_directory, ledger_error_words(r))
                     : 0;
}

/* Refuses a new bill if a record of the job was removed. Commits the newest records first, since a bill
 * needs all of them. */
static int check_records(const Job *job, sd_bus_error *error) {
        int r;

        r = reply_trimmed(&job->row, error);
        return r < 0 ? r : commit_records(job, error);
}

static int reply_unread(sd_bus_message *m, int error) {
        return sd_bus_reply_method_errnof(
                        m, error, "The ledger's records could not be read: %s.", g_strerror(-error));
}

static int bill_under_answer(sd_bus_message *m, int result, void *work) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        const BillCall *call = work;
        Bill bill;
        int r;

        if (result < 0)
                return reply_unread(m, result);
        bill_make(&call->usage, call->sheet, &call->settings, &bill);
        r = sd_bus_message_new_method_return(m, &reply);
        if (r < 0)
                return r;
        r = sd_bus_message_append(reply, "ssddddt", price_sheet_currency(call->sheet),
                        price_sheet_name(call->sheet), bill.paper, bill.full,
                        price_learner_second(call->sheet, &call->settings),
                        rebill_actor_second(call->sheet, &call->settings), call->usage.emulated_nsec);
        if (r < 0)
                return r;
        r = append_lines(reply, &bill);
        return r < 0 ? r : reply_send(reply);
}

static int check_under(const BillCall *call, sd_bus_error *error) {
        g_autofree char *message = NULL;
        int r;

        r = price_sheet_check(call->sheet, &call->settings, &message);
        if (r < 0)
                return sd_bus_error_set(error, BUS_ERROR(BadPriceSheet), message);
        return check_records(call->job, error);
}

int method_get_bill_under(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        static const LongCallOps ops = {
                .part = bill_call_part, .answer = bill_under_answer, .free = bill_call_free
        };
        Job *job = userdata;
        _cleanup_(bill_call_freep) BillCall *call = bill_call_new(job);
        const char *name;
        uint32_t uid;
        int r;

        r = sd_bus_message_read(m, "s", &name);
        if (r < 0)
                return r;
        r = access_uid(job->context->access, m, &uid, error);
        if (r < 0)
                return r;
        r = read_sheet(name, &call->sheet, error);
        if (r < 0)
                return r;
        r = check_under(call, error);
        if (r < 0)
                return r;

        call->replay = job_replay_for(job, call_add_usage, call);
        return long_call_start(job, m, uid, &ops, TAKE_PTR(call), error);
}

static int append_beside(sd_bus_message *reply, const BillCall *call, BesideWay way) {
        BesideBill bill;
        int r;

        beside_make(&call->beside, way, call_sheet(call), call->servers ? call->servers : call_sheet(call),
                        &call->settings, &bill);
        r = sd_bus_message_append(reply, "(sssdddss)", beside_to_string(way), price_sheet_name(bill.sheet),
                        bill.clock, bill.seconds, bill.paper, bill.full, bill.assumes ? bill.assumes : "",
                        bill.unknown ? bill.unknown : "");
        beside_bill_done(&bill);
        return r;
}

static int beside_call_answer(sd_bus_message *m, int result, void *work) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        const BillCall *call = work;
        int r;

        if (result < 0)
                return reply_unread(m, result);
        r = sd_bus_message_new_method_return(m, &reply);
        if (r < 0)
                return r;
        r = sd_bus_message_append(reply, "s", price_sheet_currency(call_sheet(call)));
        if (r < 0)
                return r;
        r = sd_bus_message_open_container(reply, 'a', "(sssdddss)");
        if (r < 0)
                return r;
        for (BesideWay way = 0; way < _BESIDE_MAX; way++) {
                r = append_beside(reply, call, way);
                if (r < 0)
                        return r;
        }
        return reply_send(reply);
}

int method_get_beside(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        static const LongCallOps ops = {
                .part = bill_call_part, .answer = beside_call_answer, .free = bill_call_free
        };
        Job *job = userdata;
        _cleanup_(bill_call_freep) BillCall *call = bill_call_new(job);
        const char *prices, *servers;
        uint32_t uid;
        int r;

        r = sd_bus_message_read(m, "ss", &prices, &servers);
        if (r < 0)
                return r;
        r = access_uid(job->context->access, m, &uid, error);
        if (r < 0)
                return r;
        r = *prices ? read_sheet(prices, &call->sheet, error) : 0;
        if (r < 0)
                return r;
        r = *servers ? read_sheet(servers, &call->servers, error) : 0;
        if (r < 0)
                return r;
        r = check_records(job, error);
        if (r < 0)
                return r;

        call->settings.convention = CONVENTION_SERVERLESS;
        call->replay = job_replay_for(job, call_add_beside, call);
        return long_call_start(job, m, uid, &ops, TAKE_PTR(call), error);
}

static int append_estimate(sd_bus_message *reply, const Job *job, uint32_t row) {
        const Usage *usage = &job->progress.estimates.usage[row];
        const char *unknown = job->row.trimmed_usec > 0 ? "the job's records were removed"
                                                        : estimate_unknown(row, &job->settings);
        double emulated_s = NAN, paper = NAN, full = NAN;
        Bill bill;

        if (!unknown) {
                bill_make(usage, job->sheet, &job->settings, &bill);
                emulated_s = (double) usage->emulated_nsec / 1e9;
                paper = bill.paper;
                full = bill.full;
        }
        return sd_bus_message_append(reply, "(suddds)",
                        choice_distribution_to_string(estimate_distribution(row)), estimate_learners(row),
                        emulated_s, paper, full, unknown ? unknown : "");
}

int method_get_estimates(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Job *job = userdata;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int r;

        r = job->row.trimmed_usec > 0 ? job_load_summary(job)
                                      : records_wanted(job, m, method_get_estimates, error);
        if (r < 0 || (r == 0 && job->row.trimmed_usec == 0))
                return r < 0 ? r : 1;
        r = reply_list(m, "(suddds)", &reply);
        if (r < 0)
                return r;
        for (uint32_t i = 0; i < _ESTIMATE_MAX && job->row.purpose == LAUNCH_TRAIN; i++) {
                r = append_estimate(reply, job, i);
                if (r < 0)
                        return r;
        }
        return reply_send(reply);
}

static int append_fleet(sd_bus_message *reply, const Job *job, double serverless, const PriceSheet *sheet) {
        g_autofree char *servers = fleet_servers(sheet, &job->settings);
        Fleet fleet;

        fleet_make(&job->progress.usage, serverless, sheet, &job->settings, &fleet);
        return sd_bus_message_append(reply, "(sssddddd)", price_sheet_name(sheet), price_sheet_date(sheet),
                        servers, fleet.hour, fleet.emulated, fleet.wall, fleet.even_emulated,
                        fleet.even_wall);
}

/* Adds the fleet of a price sheet. A sheet that cannot be read, or that fleet_check() refuses, is left out.
 * If the caller asked for this sheet by name, that is an error. */
static int add_sheet(sd_bus_message *reply, const Job *job, double serverless, const char *name, bool named,
                sd_bus_error *error) {
        _cleanup_(price_sheet_freep) PriceSheet *sheet = NULL;
        g_autofree char *text = NULL, *message = NULL;
        int r;

        r = sheets_read(name, &text);
        if (r < 0 && named)
                return reply_no_sheet(error, name, r);
        if (r < 0)
                return 0;
        r = price_sheet_parse(text, name, &sheet, &message);
        if (r < 0)
                return named ? sd_bus_error_set(error, BUS_ERROR(BadPriceSheet), message) : 0;
        r = fleet_check(job->sheet, sheet, &job->settings, &message);
        if (r < 0 && named)
                return sd_bus_error_setf(error, BUS_ERROR(BadPriceSheet), "There is nothing to compare: %s.",
                                message);
        return r < 0 ? 0 : append_fleet(reply, job, serverless, sheet);
}

static int add_sheets(sd_bus_message *reply, const Job *job, double serverless, sd_bus_error *error) {
        g_auto(GStrv) sheets = NULL;
        int r;

        r = sheets_list(&sheets);
        if (r < 0)
                return reply_no_sheets(error, r);
        for (char **sheet = sheets; *sheet; sheet++) {
                r = add_sheet(reply, job, serverless, *sheet, false, error);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int reply_fleets(sd_bus_message *m, const Job *job, double serverless, const char *name,
                sd_bus_error *error) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int r;

        r = sd_bus_message_new_method_return(m, &reply);
        if (r < 0)
                return r;
        r = sd_bus_message_append(reply, "d", serverless);
        if (r < 0)
                return r;
        r = sd_bus_message_open_container(reply, 'a', "(sssddddd)");
        if (r < 0)
                return r;
        r = *name ? add_sheet(reply, job, serverless, name, true, error)
                  : add_sheets(reply, job, serverless, error);
        return r < 0 ? r : reply_send(reply);
}

static int fleets_call_answer(sd_bus_message *m, int result, void *work) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        const BillCall *call = work;
        const Job *job = call->job;
        int r;

        if (result < 0)
                return reply_unread(m, result);
        r = reply_fleets(m, job, fleet_serverless(&call->beside.elsewhere, job->sheet, &job->settings),
                        call->name, &error);
        return sd_bus_error_is_set(&error) ? sd_bus_reply_method_error(m, &error) : r;
}

/* Reads all records if the job had nodes of a cluster: the job's own sums contain the time of a node, but
 * not the work of the actors on it. */
int method_get_fleets(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        static const LongCallOps ops = {
                .part = bill_call_part, .answer = fleets_call_answer, .free = bill_call_free
        };
        _cleanup_(bill_call_freep) BillCall *call = NULL;
        Job *job = userdata;
        const char *name;
        uint32_t uid;
        int r;

        r = sd_bus_message_read(m, "s", &name);
        if (r < 0)
                return r;
        r = load_sums(job, error);
        if (r < 0)
                return r;
        if (!usage_has_nodes(&job->progress.usage))
                return reply_fleets(m, job,
                                fleet_serverless(&job->progress.usage, job->sheet, &job->settings), name,
                                error);
        if (job->row.trimmed_usec > 0)
                return reply_fleets(m, job, NAN, name, error);
        r = access_uid(job->context->access, m, &uid, error);
        if (r < 0)
                return r;
        r = commit_records(job, error);
        if (r < 0)
                return r;
        call = bill_call_new(job);
        call->name = g_strdup(name);
        call->replay = job_replay_for(job, call_add_beside, call);
        return long_call_start(job, m, uid, &ops, TAKE_PTR(call), error);
}

/* The bill of the scheduler's own training. A user should compare it with the money that the scheduler
 * saves. If this training started from another scheduler, the bill includes the training of that one. */
int method_get_scheduler_bill(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        char file[SETTING_TEXT_MAX], environment[SETTING_TEXT_MAX];
        Job *job = userdata;
        MinionsModel model = {};
        int owns;

        owns = access_owns(job, m, error);
        if (owns < 0)
                return owns;

        /* The model was checked when the job was accepted. */
        if (scheduler_has(job->settings.scheduler.kind, TRAIT_TAKES_TRAINED) &&
                        job->row.n_scheduler_data >= sizeof(model))
                memcpy(&model, job->row.scheduler_data, sizeof(model));
        return sd_bus_reply_method_return(m, "ssttssdd", owns ? model.job : audience_name(model.job, file),
                        owns ? model.environment : audience_name(model.environment, environment),
                        model.start_episodes + model.n_episodes, model.start_wall_nsec + model.wall_nsec,
                        model.currency, model.price_sheet, model.start_paper + model.cost_paper,
                        model.start_full + model.cost_full);
}
