/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/hold.h"

#include <assert.h>
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "daemon/day.h"
#include "lib/fragment.h"

/* How many times a job that trains may take MemoryMax= of [Actor]: once for each container. A learner that
 * acts (fused, which auto may choose) may take it once for each actor. */
static uint64_t shares_of_actors(const JobSettings *settings) {
        bool may_fuse = settings->distribution == DISTRIBUTION_AUTO ||
                        distribution_fuses(distribution_of(settings));

        return may_fuse ? settings_actors_max(settings) : settings_processes(settings);
}

QuotaNeed quota_need(const JobSettings *settings, uint32_t n_learners, bool trains) {
        uint64_t n_shares;

        assert(settings);

        n_shares = shares_of_actors(settings) + (trains ? settings_evaluators(settings) : 0);
        return (QuotaNeed){
                .actors = settings_actors_max(settings),
                .memory_bytes = n_shares * settings->memory_max_bytes +
                                n_learners * settings->learner_memory_max_bytes,
        };
}

uint32_t quota_learners_max(
                const Quota *quota, uint64_t others, const QuotaNeed *need, const JobSettings *settings) {
        uint64_t taken = others + need->memory_bytes;

        if (quota->memory_bytes == 0)
                return UINT32_MAX;
        if (taken >= quota->memory_bytes)
                return 1;
        return 1 + (uint32_t) MIN((quota->memory_bytes - taken) / settings->learner_memory_max_bytes,
                                   UINT32_MAX - 1);
}

void quota_add(QuotaUsage *usage, const QuotaNeed *need) {
        usage->running++;
        usage->actors += need->actors;
        usage->memory_bytes += need->memory_bytes;
}

bool quota_disk_has_room(uint64_t limit, uint64_t others, uint64_t bytes) {
        return limit == 0 || (others < limit && bytes <= limit - others);
}

Hold hold_of(const Quota *quota, const QuotaUsage *beside, const QuotaNeed *need) {
        QuotaUsage with;

        assert(quota);
        assert(beside);
        assert(need);

        with = *beside;
        quota_add(&with, need);
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

char *hold_never(const Quota *quota, const QuotaNeed *need, const JobSettings *settings,
                const char *currency) {
        char money[MONEY_WORDS_MAX];

        assert(quota);
        assert(need);
        assert(settings);
        assert(currency);

        if (quota->money.nano > 0 && strcmp(quota->money.currency, currency) != 0)
                return g_strdup_printf("its price sheet %s is in %s, and its user may spend %s a day "
                                       "(MaxMoneyPerDayPerUser=): name a price sheet in %s with "
                                       "PriceSheet= in [Billing]",
                                settings->price_sheet, currency,
                                money_words(quota->money.nano, quota->money.currency, money),
                                quota->money.currency);

        if (quota->actors > 0 && need->actors > quota->actors)
                return g_strdup_printf(
                                "it has up to %" PRIu64
                                " actors, and the running jobs of its user may have %" PRIu32
                                " together (MaxActorsPerUser=): lower MaxActors= or Actors= of [Scaling]",
                                need->actors, quota->actors);
        if (quota->memory_bytes > 0 && need->memory_bytes > quota->memory_bytes)
                return g_strdup_printf(
                                "it has up to %" PRIu64
                                " MiB of memory (its actors, its evaluations' actors and its learners), and "
                                "the running jobs of its user may have %" PRIu64
                                " MiB together (MaxMemoryPerUser=): lower MemoryMax= of [Actor] and "
                                "[Learner], or the number of actors or learners",
                                need->memory_bytes >> 20, quota->memory_bytes >> 20);
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

void hold_words(const Hold *hold, const QuotaNeed *need, char *ret, size_t size) {
        assert(hold);
        assert(need);
        assert(ret && size > 0);

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
                                need->actors, hold->beside, hold->limit);
                break;
        case HOLD_MEMORY:
                (void) snprintf(ret, size,
                                "it waits for room in its user's quota: it has up to %" PRIu64
                                " MiB of memory, the user's jobs before it have up to %" PRIu64
                                " MiB, and MaxMemoryPerUser=%" PRIu64 "M",
                                need->memory_bytes >> 20, hold->beside >> 20, hold->limit >> 20);
                break;
        case HOLD_MONEY: money_sentence(hold, ret, size); break;
        }
}
