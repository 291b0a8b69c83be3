/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/hold.h"

#include <assert.h>
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "daemon/day.h"

static uint64_t memory_of(const JobSettings *settings) {
        return settings_actors_max(settings) * settings->memory_max_bytes +
               settings->learner_memory_max_bytes;
}

void quota_add(QuotaUsage *usage, const JobSettings *settings) {
        usage->running++;
        usage->actors += settings_actors_max(settings);
        usage->memory_bytes += memory_of(settings);
}

bool quota_disk_has_room(uint64_t limit, uint64_t others, uint64_t bytes) {
        return limit == 0 || (others < limit && bytes <= limit - others);
}

Hold hold_of(const Quota *quota, const QuotaUsage *beside, const JobSettings *settings) {
        QuotaUsage with;

        assert(quota);
        assert(beside);
        assert(settings);

        with = *beside;
        quota_add(&with, settings);
        if (quota->actors > 0 && with.actors > quota->actors)
                return (Hold){ HOLD_ACTORS, beside->actors, quota->actors };
        if (quota->memory_bytes > 0 && with.memory_bytes > quota->memory_bytes)
                return (Hold){ HOLD_MEMORY, beside->memory_bytes, quota->memory_bytes };
        return (Hold){};
}

/* An amount of money in words, not rounded: "5 USD", "0.0005 USD". Returns ret. */
#define MONEY_WORDS_MAX 48u
static const char *money_words(uint64_t nano, const char *currency, char ret[MONEY_WORDS_MAX]) {
        char digits[16];
        size_t n;

        assert(currency);
        assert(ret);

        (void) snprintf(digits, sizeof(digits), ".%09" PRIu64, nano % 1000000000);
        n = strlen(digits);
        while (digits[n - 1] == '0')
                n--;
        (void) snprintf(ret, MONEY_WORDS_MAX, "%" PRIu64 "%.*s %s", nano / 1000000000, n > 1 ? (int) n : 0,
                        digits, currency);
        return ret;
}

char *hold_never(const Quota *quota, const JobSettings *settings, const char *currency) {
        char money[MONEY_WORDS_MAX];
        QuotaUsage alone = {};

        assert(quota);
        assert(settings);
        assert(currency);

        if (quota->money.nano > 0 && strcmp(quota->money.currency, currency) != 0)
                return g_strdup_printf("its price sheet %s is in %s, and its user may spend %s a day "
                                       "(MaxMoneyPerDayPerUser=): name a price sheet in %s with "
                                       "PriceSheet= in [Billing]",
                                settings->price_sheet, currency,
                                money_words(quota->money.nano, quota->money.currency, money),
                                quota->money.currency);

        quota_add(&alone, settings);
        if (quota->actors > 0 && alone.actors > quota->actors)
                return g_strdup_printf(
                                "it has up to %" PRIu64
                                " actors, and the running jobs of its user may have %" PRIu32
                                " together (MaxActorsPerUser=): lower MaxActors= or Actors= of [Scaling]",
                                alone.actors, quota->actors);
        if (quota->memory_bytes > 0 && alone.memory_bytes > quota->memory_bytes)
                return g_strdup_printf(
                                "it has up to %" PRIu64
                                " MiB of memory (its actors and its learner), and the running jobs of "
                                "its user may have %" PRIu64
                                " MiB together (MaxMemoryPerUser=): lower MemoryMax= of [Actor] and "
                                "[Learner], or the number of actors",
                                alone.memory_bytes >> 20, quota->memory_bytes >> 20);
        return NULL;
}

static void money_sentence(const Hold *hold, char *ret, size_t size) {
        char spent[MONEY_WORDS_MAX], limit[MONEY_WORDS_MAX], until[DAY_WORDS_MAX];

        (void) snprintf(ret, size,
                        "it waits until %s: the user's jobs have spent %s today, and MaxMoneyPerDayPerUser= "
                        "is %s",
                        day_words(hold->until_usec, until), money_words(hold->beside, hold->currency, spent),
                        money_words(hold->limit, hold->currency, limit));
}

void hold_words(const Hold *hold, const JobSettings *settings, char *ret, size_t size) {
        QuotaUsage alone = {};

        assert(hold);
        assert(settings);
        assert(ret && size > 0);

        quota_add(&alone, settings);
        ret[0] = '\0';
        switch (hold->reason) {
        case HOLD_NOTHING: break;
        case HOLD_UNKNOWN:
                (void) snprintf(ret, size,
                                "it waits because its user's quota is unknown: the host's user database "
                                "has not answered yet which groups the user is in");
                break;
        case HOLD_TURN:
                (void) snprintf(ret, size,
                                "it waits for an earlier job of its user, and that job waits for room in "
                                "the quota");
                break;
        case HOLD_ACTORS:
                (void) snprintf(ret, size,
                                "it waits for room in its user's quota: it has up to %" PRIu64
                                " actors, the user's jobs before it have up to %" PRIu64
                                ", and MaxActorsPerUser=%" PRIu64,
                                alone.actors, hold->beside, hold->limit);
                break;
        case HOLD_MEMORY:
                (void) snprintf(ret, size,
                                "it waits for room in its user's quota: it has up to %" PRIu64
                                " MiB of memory, the user's jobs before it have up to %" PRIu64
                                " MiB, and MaxMemoryPerUser=%" PRIu64 "M",
                                alone.memory_bytes >> 20, hold->beside >> 20, hold->limit >> 20);
                break;
        case HOLD_MONEY: money_sentence(hold, ret, size); break;
        }
}
