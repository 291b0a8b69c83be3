/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads price sheets. A sheet with an unknown key is refused: if the name of a rate is misspelt, usage would
 * cost nothing. Every message begins with FILE:LINE. A message about an unknown key or section suggests one
 * with a similar name, if there is one. */
#include "daemon/bill/price-private.h"

#include <assert.h>
#include <errno.h>
#include <glib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "lib/fragment.h"
#include "lib/settings/print.h"
#include "lib/settings/settings.h"

#define SHEET_BYTES_MAX (64u * 1024u)
#define TEXT_BYTES_MAX  512u

typedef struct SheetKey {
        const char *section, *key;
        size_t offset; /* of the member in PriceSheet */
        bool is_text;
        double highest;
} SheetKey;

static const SheetKey sheet_keys[] = {
#define X(section, key, member) { #section, #key, offsetof(PriceSheet, member), true, 0 },
        PRICE_TEXTS(X)
#undef X
#define X(section, key, member, highest, help) \
        { #section, #key, offsetof(PriceSheet, member), false, highest },
                        PRICE_RATES(X)
#undef X
};

G_DEFINE_AUTOPTR_CLEANUP_FUNC(PriceSheet, price_sheet_free)

typedef struct Source {
        const char *text, *file_name;
        bool stored; /* the sheet is a job's own copy, in which a key may occur twice */
        char **ret_message;
} Source;

/* Writes the message. section NULL: it is about the file as a whole; key NULL: about the section. -EINVAL */
G_GNUC_PRINTF(4, 5)
static int refuse(const Source *source, const char *section, const char *key, const char *format, ...) {
        g_autofree char *reason = NULL;
        unsigned line = 0;
        va_list ap;

        va_start(ap, format);
        reason = g_strdup_vprintf(format, ap);
        va_end(ap);

        if (section && key)
                line = settings_locate(source->text, section, key);
        if (!section)
                *source->ret_message = g_strdup_printf("%s:1: %s", source->file_name, reason);
        else if (!key)
                *source->ret_message = g_strdup_printf("%s:1: [%s]: %s", source->file_name, section, reason);
        else
                *source->ret_message = g_strdup_printf("%s:%u: [%s] %s=: %s", source->file_name,
                                MAX(line, 1u), section, key, reason);
        return -EINVAL;
}

/* Checks the shape of each line before GKeyFile reads the text, since GKeyFile does not say on which line it
 * stopped. */
static int check_lines(const Source *source) {
        g_auto(GStrv) lines = g_strsplit(source->text, "\n", -1);
        bool in_section = false;

        for (unsigned i = 0; lines[i]; i++) {
                const char *line = g_strstrip(lines[i]);
                const char *reason = NULL;

                if (line[0] == '\0' || line[0] == '#')
                        continue;
                if (line[0] == '[') {
                        if (!g_str_has_suffix(line, "]") || strlen(line) < 3)
                                reason = "a section is written as [Section]";
                        in_section = true;
                } else if (!strchr(line, '=') || line[0] == '=')
                        reason = "neither a [Section] nor a Key=VALUE nor a # comment";
                else if (!in_section)
                        reason = "a key before the first [Section]";

                if (reason) {
                        *source->ret_message = g_strdup_printf(
                                        "%s:%u: \"%.60s\": %s.", source->file_name, i + 1, line, reason);
                        return -EINVAL;
                }
        }
        return 0;
}

static unsigned locate_section(const char *text, const char *section) {
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
        g_autofree char *wanted = g_strdup_printf("[%s]", section);

        for (unsigned i = 0; lines[i]; i++)
                if (g_str_equal(g_strstrip(lines[i]), wanted))
                        return i + 1;
        return 1;
}

static int refuse_section(const Source *source, const char *section) {
        static const char *const sections[] = { "Sheet", "Execution", "Provisioned", "Nodes", "Network",
                "Energy", "Learner", "Actors", "Fleet", NULL };
        const char *nearest = nearest_word(section, sections);

        *source->ret_message = g_strdup_printf("%s:%u: [%s]: unknown section%s%s%s", source->file_name,
                        locate_section(source->text, section), section, nearest ? "; did you mean [" : "",
                        nearest ?: "", nearest ? "]?" : ".");
        return -EINVAL;
}

static int refuse_key(const Source *source, const char *section, const char *key) {
        const char *words[G_N_ELEMENTS(sheet_keys) + 1], *nearest;
        size_t n = 0;

        for (size_t i = 0; i < G_N_ELEMENTS(sheet_keys); i++)
                if (g_str_equal(sheet_keys[i].section, section))
                        words[n++] = sheet_keys[i].key;
        words[n] = NULL;
        if (n == 0)
                return refuse_section(source, section);

        nearest = nearest_word(key, words);
        return refuse(source, section, key, "unknown key%s%s%s", nearest ? "; did you mean " : "",
                        nearest ?: "", nearest ? "=?" : ".");
}

static int parse_text(const Source *source, const SheetKey *row, const char *value, PriceSheet *sheet) {
        if (strlen(value) > TEXT_BYTES_MAX)
                return refuse(source, row->section, row->key, "longer than %u bytes.", TEXT_BYTES_MAX);
        for (const char *p = value; *p; p++)
                if ((unsigned char) *p < 0x20 || *p == 0x7f)
                        return refuse(source, row->section, row->key, "holds a control character.");

        g_free(*(char **) ((char *) sheet + row->offset));
        *(char **) ((char *) sheet + row->offset) = g_strdup(value);
        return 0;
}

static int parse_rate(const Source *source, const SheetKey *row, const char *value, PriceSheet *sheet) {
        char *end = NULL;
        double x;

        errno = 0;
        x = g_ascii_strtod(value, &end);
        /* strtod() also reads words and hexadecimal digits, which prices do not have. */
        if (end == value || *end || strspn(value, "0123456789.eE+-") != strlen(value))
                return refuse(source, row->section, row->key, "\"%.40s\" is not a number.", value);
        if (!(x >= 0) || x > row->highest || (errno == ERANGE && x != 0))
                return refuse(source, row->section, row->key, "%.40s is out of range: 0 to %g.", value,
                                row->highest);

        *(double *) ((char *) sheet + row->offset) = x;
        return 0;
}

static const SheetKey *key_find(const char *section, const char *key) {
        for (size_t i = 0; i < G_N_ELEMENTS(sheet_keys); i++)
                if (g_str_equal(sheet_keys[i].section, section) && g_str_equal(sheet_keys[i].key, key))
                        return &sheet_keys[i];
        return NULL;
}

static int parse_section(const Source *source, GKeyFile *file, const char *section, PriceSheet *sheet) {
        g_auto(GStrv) keys = g_key_file_get_keys(file, section, NULL, NULL);
        bool known = false;
        int r;

        for (size_t i = 0; i < G_N_ELEMENTS(sheet_keys); i++)
                known = known || g_str_equal(sheet_keys[i].section, section);
        if (!known)
                return refuse_section(source, section);

        for (char **key = keys; key && *key; key++) {
                g_autofree char *value = g_key_file_get_value(file, section, *key, NULL);
                const SheetKey *row = key_find(section, *key);

                if (!row)
                        return refuse_key(source, section, *key);
                g_strstrip(value);
                if (*value == '\0') /* empty is unset, as in job files */
                        continue;
                r = row->is_text ? parse_text(source, row, value, sheet)
                                 : parse_rate(source, row, value, sheet);
                if (r < 0)
                        return r;
        }
        return 0;
}

static bool date_is_valid(const char *text) {
        unsigned year, month, day;
        char rest;

        return strlen(text) == 10 && sscanf(text, "%4u-%2u-%2u%c", &year, &month, &day, &rest) == 3 &&
               g_date_valid_dmy((GDateDay) MIN(day, 255u), (GDateMonth) MIN(month, 13u), (GDateYear) year);
}

static int check_texts(const Source *source, const PriceSheet *s) {
        const struct {
                const char *key, *value;
        } required[] = { { "Name", s->name }, { "Date", s->date }, { "Source", s->source },
                { "Currency", s->currency }, { "Description", s->description } };

        for (size_t i = 0; i < G_N_ELEMENTS(required); i++)
                if (!required[i].value)
                        return refuse(source, "Sheet", NULL, "%s= is missing.", required[i].key);
        if (strspn(s->name, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(s->name) ||
                        strlen(s->name) > 64)
                return refuse(source, "Sheet", "Name",
                                "\"%.70s\" is not a name: use up to 64 of a-z, 0-9 and \"-\".", s->name);
        if (!date_is_valid(s->date))
                return refuse(source, "Sheet", "Date", "\"%.40s\" is not a date: write YYYY-MM-DD.",
                                s->date);
        if (strlen(s->currency) > 16)
                return refuse(source, "Sheet", "Currency", "longer than 16 bytes.");
        return 0;
}

/* A sheet bills in one way: by rates of functions, energy, or servers. A mixture would bill the same second
 * twice. */
static int check_rates(const Source *source, const PriceSheet *s) {
        bool rates = s->gb_second > 0 || s->vcpu_second > 0, energy = s->kwh > 0 || s->watts_per_core > 0,
             servers = price_sheet_has_servers(s);

        if (rates + energy + servers == 0)
                return refuse(source, NULL, NULL,
                                "no price at all: give [Execution] rates, [Energy], or the servers "
                                "[Learner] and [Actors].");
        if (rates + energy + servers > 1)
                return refuse(source, NULL, NULL,
                                "more than one kind of price: give only [Execution] rates, [Energy], or "
                                "the servers [Learner] and [Actors].");
        if (energy && !(s->kwh > 0 && s->watts_per_core > 0))
                return refuse(source, "Energy", s->kwh > 0 ? "KWh" : "WattsPerCore",
                                "KWh= and WattsPerCore= must be given together.");
        if (servers && !(s->learner_hour > 0 && s->actors_hour > 0))
                return refuse(source, s->learner_hour > 0 ? "Learner" : "Actors", "PerHour",
                                "Both [Learner] and [Actors] need PerHour=.");
        if (servers && !(s->learner_functions >= 1 && s->actors_functions >= 1 && s->learner_count >= 1))
                return refuse(source, "Learner", "PerHour",
                                "servers need [Learner] Count= and Functions= and [Actors] Functions= of "
                                "at least 1.");
        if (s->from_rates != 0 && s->from_rates != 1)
                return refuse(source, "Fleet", "FromRates", "is 0 or 1.");
        if (s->from_rates == 1 && !rates)
                return refuse(source, "Fleet", "FromRates", "needs [Execution] rates.");
        return 0;
}

static int sheet_load(const Source *source, PriceSheet *sheet) {
        g_autoptr(GKeyFile) file = g_key_file_new();
        g_autoptr(GError) error = NULL;
        g_auto(GStrv) sections = NULL;
        int r;

        if (strlen(source->text) > SHEET_BYTES_MAX)
                return refuse(source, NULL, NULL, "longer than %u bytes.", SHEET_BYTES_MAX);
        if (!g_utf8_validate(source->text, -1, NULL))
                return refuse(source, NULL, NULL, "not UTF-8 text.");
        r = check_lines(source);
        if (r < 0)
                return r;
        if (!g_key_file_load_from_data(file, source->text, strlen(source->text), G_KEY_FILE_NONE, &error))
                return refuse(source, NULL, NULL, "%s.", error->message);
        r = source->stored ? 0
                           : settings_refuse_repeated(source->text, source->file_name, source->ret_message);
        if (r < 0)
                return r;

        sections = g_key_file_get_groups(file, NULL);
        for (char **section = sections; *section; section++) {
                r = parse_section(source, file, *section, sheet);
                if (r < 0)
                        return r;
        }
        r = check_texts(source, sheet);
        if (r < 0)
                return r;
        return check_rates(source, sheet);
}

static int parse(
                const char *text, const char *file_name, bool stored, PriceSheet **ret, char **ret_message) {
        g_autoptr(PriceSheet) sheet = g_new0(PriceSheet, 1);
        g_autofree char *message = NULL;
        int r;

        assert(text);
        assert(file_name);
        assert(ret);
        assert(ret_message);

        r = sheet_load(&(Source){ text, file_name, stored, &message }, sheet);
        if (r < 0) {
                *ret_message = g_steal_pointer(&message);
                return r;
        }

        *ret = g_steal_pointer(&sheet);
        return 0;
}

int price_sheet_parse(const char *text, const char *file_name, PriceSheet **ret, char **ret_message) {
        return parse(text, file_name, false, ret, ret_message);
}

int price_sheet_parse_stored(const char *text, const char *file_name, PriceSheet **ret, char **ret_message) {
        return parse(text, file_name, true, ret, ret_message);
}

PriceSheet *price_sheet_free(PriceSheet *sheet) {
        if (!sheet)
                return NULL;
#define X(section, key, member) g_free(sheet->member);
        PRICE_TEXTS(X)
#undef X
        g_free(sheet);
        return NULL;
}

const char *price_sheet_name(const PriceSheet *sheet) {
        return sheet->name;
}

const char *price_sheet_date(const PriceSheet *sheet) {
        return sheet->date;
}

const char *price_sheet_source(const PriceSheet *sheet) {
        return sheet->source;
}

const char *price_sheet_currency(const PriceSheet *sheet) {
        return sheet->currency;
}

const char *price_sheet_description(const PriceSheet *sheet) {
        return sheet->description;
}

int price_sheet_check_places(const PriceSheet *fleet, const JobSettings *settings, char **ret_message) {
        uint32_t n_actors = settings_actors_max(settings);

        assert(fleet);
        assert(ret_message);

        if (fleet->actors_count == 0 || fleet->actors_count * fleet->actors_functions >= n_actors)
                return 0;
        *ret_message = g_strdup_printf("the fleet %s has places for %.0f actors, and this job may have %u",
                        fleet->name, fleet->actors_count * fleet->actors_functions, n_actors);
        return -EINVAL;
}

uint32_t price_sheet_learners_max(const PriceSheet *sheet, const JobSettings *settings) {
        assert(sheet);
        assert(settings);

        if (settings->convention != CONVENTION_SERVER || !price_sheet_has_servers(sheet))
                return UINT32_MAX;
        return (uint32_t) fmin(UINT32_MAX, sheet->learner_count * sheet->learner_functions);
}

/* Refuses a job with more learners than the servers of the price sheet have room for. */
static int check_learners(const PriceSheet *sheet, const JobSettings *settings, char **ret_message) {
        uint32_t n_learners = distribution_learners(distribution_of(settings), settings);
        uint32_t n_places = price_sheet_learners_max(sheet, settings);

        if (n_learners <= n_places)
                return 0;
        *ret_message = g_strdup_printf(
                        "[Distribution] Policy=%s with Learners=%u: the price sheet %s has a price for %u "
                        "learners ([Learner] Count= times Functions=); use fewer learners, a sheet "
                        "with more, or Convention=serverless.",
                        choice_distribution_to_string(settings->distribution), n_learners, sheet->name,
                        n_places);
        return -EINVAL;
}

/* Refuses a job with more actors than the servers have room for. */
static int check_actors(const PriceSheet *sheet, const JobSettings *settings, char **ret_message) {
        g_autofree char *reason = NULL;
        int r = price_sheet_check_places(sheet, settings, &reason);

        if (r < 0)
                *ret_message = g_strdup_printf("[Billing] Convention=server: %s; use fewer actors, a sheet "
                                               "with more, or Convention=serverless.",
                                reason);
        return r;
}

int price_sheet_check(const PriceSheet *sheet, const JobSettings *settings, char **ret_message) {
        int r;

        assert(sheet);
        assert(settings);
        assert(ret_message);

        if (settings_present(settings, SETTING_Job_Budget) && settings->budget.currency[0] &&
                        strcmp(settings->budget.currency, sheet->currency) != 0) {
                *ret_message = g_strdup_printf(
                                "[Job] Budget= is in %s, and the price sheet %s is in %s; write the "
                                "budget in the sheet's currency, or use another sheet.",
                                settings->budget.currency, sheet->name, sheet->currency);
                return -EINVAL;
        }
        if (settings->cost_alert.n > 0 && settings->cost_alert.currency[0] &&
                        strcmp(settings->cost_alert.currency, sheet->currency) != 0) {
                *ret_message = g_strdup_printf(
                                "[Job] CostAlert= is in %s, and the price sheet %s is in %s; write the "
                                "amounts in the sheet's currency, or use another sheet.",
                                settings->cost_alert.currency, sheet->name, sheet->currency);
                return -EINVAL;
        }
        if (settings->convention != CONVENTION_SERVER)
                return 0;
        if (price_sheet_has_servers(sheet)) {
                r = check_learners(sheet, settings, ret_message);
                return r < 0 ? r : check_actors(sheet, settings, ret_message);
        }
        if (sheet->from_rates == 1)
                return 0;
        *ret_message = g_strdup_printf(
                        "[Billing] Convention=server: the price sheet %s names no servers; use one that "
                        "does, such as ec2-nitro, or Convention=serverless.",
                        sheet->name);
        return -EINVAL;
}
