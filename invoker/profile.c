/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Adds up the times for which the invoker was awake or asleep, and divides them among the parts of a round
 * (ProfilePart). */
#include "invoker/profile.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "invoker/meter.h"
#include "lib/boottime.h"
#include "lib/cleanup.h"
#include "lib/spent.h"

ProfileSleep profile_sleep_of(uint32_t order_kind) {
        switch (order_kind) {
        case ORDER_ROLLOUT:
        case ORDER_SERVE: return SLEEP_ROLLOUT;
        case ORDER_TAKE: return SLEEP_TAKE;
        case ORDER_LEARN: return SLEEP_LEARN;
        default: return SLEEP_OTHER;
        }
}

static uint64_t elapse(Profile *profile) {
        uint64_t now = clock_boottime(), nsec = now - profile->since_nsec;

        profile->since_nsec = now;
        return nsec;
}

void profile_begin(Profile *profile) {
        if (!profile->on || profile->since_nsec > 0)
                return;
        profile->since_nsec = clock_boottime();
        meter_time_into(&profile->sums.metering_nsec);
}

void profile_fall_asleep(Profile *profile) {
        if (profile->since_nsec > 0)
                profile->sums.awake_nsec += elapse(profile);
}

void profile_wake(Profile *profile, ProfileSleep sleep) {
        assert(sleep < _SLEEP_MAX);

        if (profile->since_nsec > 0)
                profile->sums.slept_nsec[sleep] += elapse(profile);
}

/* An actor is hostile: its times are cut to the time of its order. */
static Spent believable(const Spent *said, uint64_t nsec) {
        Spent spent = { .busy_nsec = said->busy_nsec < nsec ? said->busy_nsec : nsec };
        uint64_t left = spent.busy_nsec;

        for (uint32_t i = 0; i < _PROFILE_PART_MAX; i++) {
                spent.nsec[i] = said->nsec[i] < left ? said->nsec[i] : left;
                left -= spent.nsec[i];
        }
        for (uint32_t i = 0; i < _PRODUCT_MAX; i++)
                spent.rates[i] = said->rates[i];
        return spent;
}

void profile_answered(Profile *profile, ProfileSleep order, uint64_t ordered_nsec, const Spent *spent) {
        uint64_t now;
        Spent believed;

        assert(order < _SLEEP_ORDERS);

        if (profile->since_nsec == 0)
                return;
        now = clock_boottime();
        believed = believable(spent, now - ordered_nsec);
        profile->sums.ordered_nsec[order] += now - ordered_nsec;
        spent_add(&profile->sums.spent[order], &believed);
}

void profile_round(Profile *profile) {
        if (profile->since_nsec == 0)
                return;
        profile->sums.awake_nsec += elapse(profile);
        profile->sums.n_rounds++;
        profile->closed = profile->sums;
}

static uint64_t portion(uint64_t nsec, uint64_t part, uint64_t whole) {
        return whole > 0 ? (uint64_t) ((double) nsec * ((double) part / (double) whole)) : 0;
}

/* Divides the time for which the invoker slept during one kind of order into three parts: the workers' time,
 * the time of messages to and from the workers, and the rest. */
static void divide_sleep(const ProfileSums *sums, ProfileSleep order, uint64_t *nsec) {
        uint64_t slept = sums->slept_nsec[order], ordered = sums->ordered_nsec[order], left = slept, part;
        const Spent *spent = &sums->spent[order];

        if (ordered == 0) {
                nsec[PROFILE_wait] += slept;
                return;
        }
        for (uint32_t i = 0; i < _PROFILE_PART_MAX; i++) {
                part = portion(slept, spent->nsec[i], ordered);
                nsec[i] += part;
                left -= part < left ? part : left;
        }
        part = portion(slept, ordered - spent->busy_nsec, ordered);
        nsec[PROFILE_wake] += part < left ? part : left;
        nsec[PROFILE_rest] += left - (part < left ? part : left);
}

void profile_divide(const ProfileSums *sums, uint64_t ret_nsec[_PROFILE_PART_MAX]) {
        uint64_t metering = sums->metering_nsec < sums->awake_nsec ? sums->metering_nsec : sums->awake_nsec;

        assert(ret_nsec);

        for (uint32_t i = 0; i < _PROFILE_PART_MAX; i++)
                ret_nsec[i] = 0;
        for (uint32_t order = 0; order < _SLEEP_ORDERS; order++)
                divide_sleep(sums, order, ret_nsec);
        ret_nsec[PROFILE_wait] += sums->slept_nsec[SLEEP_OTHER];
        ret_nsec[PROFILE_metering] += metering;
        ret_nsec[PROFILE_control] += sums->awake_nsec - metering;
}

static uint64_t wall_nsec(const ProfileSums *sums) {
        uint64_t nsec = sums->awake_nsec;

        for (uint32_t i = 0; i < _SLEEP_MAX; i++)
                nsec += sums->slept_nsec[i];
        return nsec;
}

int profile_write(const Profile *profile, int directory_fd) {
        const ProfileSums *sums = &profile->closed;
        _cleanup_close_ int fd = -EBADF;
        uint64_t nsec[_PROFILE_PART_MAX];
        Spent all = {};
        bool failed;

        if (!profile->on || sums->n_rounds == 0)
                return 0;

        /* An earlier file may belong to another user id, since a job has other ids under another daemon. So
         * the file is replaced, and never overwritten. */
        (void) unlinkat(directory_fd, PROFILE_NAME, 0);
        fd = openat(directory_fd, PROFILE_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
        if (fd < 0)
                return -errno;
        profile_divide(sums, nsec);
        for (uint32_t order = 0; order < _SLEEP_ORDERS; order++)
                spent_add(&all, &sums->spent[order]);
        failed = dprintf(fd, "[Profile]\nrounds=%" PRIu64 "\nwall_nsec=%" PRIu64 "\n", sums->n_rounds,
                                 wall_nsec(sums)) < 0;
#define X(name, ...) failed = failed || dprintf(fd, #name "_nsec=%" PRIu64 "\n", nsec[PROFILE_##name]) < 0;
        PROFILE_PARTS(X)
#undef X
#define X(name)                                                                                            \
        failed = failed || dprintf(fd, #name "_operations=%" PRIu64 "\n" #name "_core_nsec=%" PRIu64 "\n", \
                                           all.rates[PRODUCT_##name].operations,                           \
                                           all.rates[PRODUCT_##name].core_nsec) < 0;
        PROFILE_PRODUCTS(X)
#undef X
        return failed ? -EIO : 0;
}
