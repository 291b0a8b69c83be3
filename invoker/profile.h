/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Measures where the time of rounds goes, for a job with Profile=yes (include/profile.h). While the invoker
 * is awake, it controls the job or reads meters. When it wakes from a sleep, it tells profile_wake() for
 * what it has waited. The time of each kind of sleep is divided in proportion to the times that workers
 * report. So the parts add up to the wall time even if a worker lies. profile.c neither decides nor
 * waits. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "include/profile.h"
#include "include/turn.h"

typedef enum ProfileSleep {
        SLEEP_ROLLOUT, /* waits for actors, or a learner that acts for them */
        SLEEP_TAKE,
        SLEEP_LEARN,
        _SLEEP_ORDERS,               /* the number of kinds that wait for the answer to an order */
        SLEEP_OTHER = _SLEEP_ORDERS, /* waits for the daemon, a new container, a checkpoint, an evaluation */
        _SLEEP_MAX,
} ProfileSleep;

typedef struct ProfileSums {
        uint64_t n_rounds;
        uint64_t awake_nsec, metering_nsec; /* metering_nsec is part of awake_nsec */
        uint64_t slept_nsec[_SLEEP_MAX];
        uint64_t ordered_nsec[_SLEEP_ORDERS]; /* from each order to its answer */
        Spent spent[_SLEEP_ORDERS];
} ProfileSums;

typedef struct Profile {
        bool on;
        uint64_t since_nsec; /* when `sums` was last brought up to date; 0: no round has begun yet */
        ProfileSums sums;    /* up to now */
        ProfileSums closed;  /* up to the end of the last round */
} Profile;

/* The kind of the invoker's sleep while workers carry out an order of this kind. */
ProfileSleep profile_sleep_of(uint32_t order_kind);

/* These functions do nothing unless profile->on is true. */
void profile_begin(Profile *profile); /* call it when a round begins */
void profile_fall_asleep(Profile *profile);
void profile_wake(Profile *profile, ProfileSleep sleep);
void profile_answered(Profile *profile, ProfileSleep order, uint64_t ordered_nsec, const Spent *spent);
void profile_round(Profile *profile); /* call it when a round has ended */

/* Divides the time of the rounds in `sums` into parts. Pure. */
void profile_divide(const ProfileSums *sums, uint64_t ret_nsec[_PROFILE_PART_MAX]);
/* Writes PROFILE_NAME into a directory. 0, or a negative errno. */
int profile_write(const Profile *profile, int directory_fd);
