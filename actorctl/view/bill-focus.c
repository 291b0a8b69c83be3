/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The columns of FOCUS 1.2 that every charge must have, and those that a provider with usage, unit prices
 * and tags must have. actord's own columns begin with x_. A job is charged in the month of its end, in UTC,
 * as in `actorctl totals`. */
#include "actorctl/view/bill-focus.h"

#include <json-glib/json-glib.h>
#include <string.h>

#include "actorctl/view/table.h"

#define PROVIDER "actord"
#define CURRENCY "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

typedef struct Charge {
        const JobStatus *job;
        const JobBill *bill;
        const JobBillLine *line;
        const FocusNames *names;
        GDateTime *start, *end, *month, *next_month;
} Charge;

bool bill_focus_check(const JobBill *bill) {
        if (strlen(bill->currency) == 3 && strspn(bill->currency, CURRENCY) == 3)
                return true;
        complain("the price sheet %s is in %s; FOCUS needs a currency of three capital letters, such as "
                 "USD: name another sheet with --prices=",
                        bill->price_sheet, bill->currency);
        return false;
}

static char *time_text(GDateTime *time) {
        return g_date_time_format(time, "%Y-%m-%dT%H:%M:%SZ");
}

static char *number_text(double value) {
        char text[G_ASCII_DTOSTR_BUF_SIZE];

        return g_strdup(g_ascii_dtostr(text, sizeof(text), value));
}

/* The name of a unit in FOCUS, which spells units out: GB-Seconds, Requests. */
static char *unit_text(const char *unit) {
        static const struct {
                const char *ours, *theirs;
        } ends[] = { { "-s", "-Seconds" }, { "-h", "-Hours" }, { "requests", "Requests" } };

        for (size_t i = 0; i < G_N_ELEMENTS(ends); i++)
                if (g_str_has_suffix(unit, ends[i].ours))
                        return g_strdup_printf("%.*s%s", (int) (strlen(unit) - strlen(ends[i].ours)), unit,
                                        ends[i].theirs);
        return g_strdup(unit);
}

/* A text that is unique among a provider's hosts, and never looks like a number to readers of CSV. */
static char *account_text(const Charge *charge) {
        return g_strdup_printf("%s/%u", charge->names->host, charge->job->uid);
}

static char *resource_text(const Charge *charge) {
        g_autofree char *account = account_text(charge);

        return g_strdup_printf("%s/%s", account, charge->names->word);
}

/* SkuPriceId of FOCUS: the price sheet, the kind of charge (the SKU) and its unit. */
static char *sku_price_text(const Charge *charge) {
        return g_strdup_printf(
                        "%s/%s/%s", charge->bill->price_sheet, charge->line->kind, charge->line->unit);
}

static char *unit_price_text(const Charge *charge) {
        return number_text(charge->line->quantity > 0 ? charge->line->amount / charge->line->quantity : 0);
}

static char *tags_text(const Charge *charge) {
        g_autoptr(JsonNode) node = json_node_alloc();
        g_autoptr(JsonObject) object = json_object_new();

        if (charge->names->tag[0])
                json_object_set_string_member(object, "tag", charge->names->tag);
        json_node_init_object(node, object);
        return json_to_string(node, FALSE);
}

/* X(column, value): the value is a new string. An empty one means null. */
#define COLUMNS(X)                                                                         \
        X(BilledCost, number_text(c->line->amount))                                        \
        X(BillingAccountId, account_text(c))                                               \
        X(BillingAccountName, user_called(c->job->uid))                                    \
        X(BillingCurrency, g_strdup(c->bill->currency))                                    \
        X(BillingPeriodStart, time_text(c->month))                                         \
        X(BillingPeriodEnd, time_text(c->next_month))                                      \
        X(ChargeCategory, g_strdup("Usage"))                                               \
        X(ChargeClass, g_strdup(""))                                                       \
        X(ChargeDescription, g_strdup_printf("%s of %s", c->line->kind, c->names->called)) \
        X(ChargeFrequency, g_strdup("Usage-Based"))                                        \
        X(ChargePeriodStart, time_text(c->start))                                          \
        X(ChargePeriodEnd, time_text(c->end))                                              \
        X(ConsumedQuantity, number_text(c->line->quantity))                                \
        X(ConsumedUnit, unit_text(c->line->unit))                                          \
        X(ContractedCost, number_text(c->line->amount))                                    \
        X(ContractedUnitPrice, unit_price_text(c))                                         \
        X(EffectiveCost, number_text(c->line->amount))                                     \
        X(InvoiceId, g_strdup(""))                                                         \
        X(InvoiceIssuerName, g_strdup(PROVIDER))                                           \
        X(ListCost, number_text(c->line->amount))                                          \
        X(ListUnitPrice, unit_price_text(c))                                               \
        X(PricingQuantity, number_text(c->line->quantity))                                 \
        X(PricingUnit, unit_text(c->line->unit))                                           \
        X(ProviderName, g_strdup(PROVIDER))                                                \
        X(PublisherName, g_strdup(PROVIDER))                                               \
        X(ResourceId, resource_text(c))                                                    \
        X(ResourceName, g_strdup(c->names->called))                                        \
        X(ResourceType, g_strdup("Job"))                                                   \
        X(ServiceCategory, g_strdup("AI and Machine Learning"))                            \
        X(ServiceName, g_strdup(PROVIDER))                                                 \
        X(ServiceSubcategory, g_strdup("Machine Learning"))                                \
        X(SkuId, g_strdup(c->line->kind))                                                  \
        X(SkuMeter, g_strdup(c->line->kind))                                               \
        X(SkuPriceDetails, g_strdup(""))                                                   \
        X(SkuPriceId, sku_price_text(c))                                                   \
        X(Tags, tags_text(c))                                                              \
        X(x_Environment, g_strdup(c->job->environment))                                    \
        X(x_PriceSheet, g_strdup(c->bill->price_sheet))                                    \
        X(x_InPaperTotal, g_strdup(c->line->paper ? "true" : "false"))

/* A line break inside a cell stays, since the cell is quoted. */
static void append_cell(GString *text, char *value) {
        g_auto(GStrv) parts = g_strsplit(value, "\"", -1);
        g_autofree char *quoted = g_strjoinv("\"\"", parts);

        if (text->len > 0 && text->str[text->len - 1] != '\n')
                g_string_append_c(text, ',');
        if (strpbrk(value, ",\"\r\n"))
                g_string_append_printf(text, "\"%s\"", quoted);
        else
                g_string_append(text, value);
        g_free(value);
}

static void append_charge(GString *text, const Charge *c) {
#define X(column, value) append_cell(text, value);
        COLUMNS(X)
#undef X
        g_string_append_c(text, '\n');
}

static GDateTime *time_of(uint64_t usec, uint64_t otherwise) {
        return g_date_time_new_from_unix_utc((int64_t) ((usec > 0 ? usec : otherwise) / 1000000));
}

void bill_focus_heading(GString *text) {
#define X(column, value) append_cell(text, g_strdup(#column));
        COLUMNS(X)
#undef X
        g_string_append_c(text, '\n');
}

void bill_focus_write(GString *text, const JobStatus *job, const JobBill *bill, const FocusNames *names,
                uint64_t now_usec) {
        g_autoptr(GDateTime) start = time_of(job->started_usec, job->submitted_usec);
        g_autoptr(GDateTime) last = time_of(job->ended_usec, now_usec);
        g_autoptr(GDateTime) end = g_date_time_add_seconds(last, 1); /* exclusive */
        g_autoptr(GDateTime) month = g_date_time_new_utc(
                        g_date_time_get_year(last), g_date_time_get_month(last), 1, 0, 0, 0);
        g_autoptr(GDateTime) next_month = g_date_time_add_months(month, 1);

        for (guint i = 0; i < bill->lines->len; i++) {
                Charge charge = { job, bill, &g_array_index(bill->lines, JobBillLine, i), names, start, end,
                        month, next_month };

                append_charge(text, &charge);
        }
}
