/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the time of rounds goes, for a job with Profile=yes (include/profile.h). The invoker is awake or
 * asleep: awake it is in control, or reads meters; asleep it waits for something, which it names when it
 * wakes. What workers say that they did meanwhile divides that time, in proportion, so that the parts add up
 * to the wall time whatever a worker says. A leaf: profile.c decides nothing and waits for nothing. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "include/profile.h"
#include "include/turn.h"

typedef enum ProfileSleep {
        SLEEP_ROLLOUT, /* for actors, or a learner that acts for them */
        SLEEP_TAKE,
        SLEEP_LEARN,
        _SLEEP_ORDERS,               /* sleeps above this one wait for orders, which are answered */
        SLEEP_OTHER = _SLEEP_ORDERS, /* for the daemon, a new container, a checkpoint, an evaluation */
        _SLEEP_MAX,
} ProfileSleep;

typedef struct ProfileSums {
        uint64_t n_rounds;
        uint64_t awake_nsec, metering_nsec; /* the second is part of the first */
        uint64_t slept_nsec[_SLEEP_MAX];
        uint64_t ordered_nsec[_SLEEP_ORDERS]; /* from each order until its answer was heard */
        Spent spent[_SLEEP_ORDERS];
} ProfileSums;

typedef struct Profile {
        bool on;
        uint64_t since_nsec; /* up to then the sums go; 0: no round has begun yet */
        ProfileSums sums;    /* until now */
        ProfileSums closed;  /* until the last round's end */
} Profile;

/* The workers that are waited for while an order of this kind is carried out. */
ProfileSleep profile_sleep_of(uint32_t order_kind);

/* Each does nothing unless profile->on. */
void profile_begin(Profile *profile); /* a round begins */
void profile_fall_asleep(Profile *profile);
void profile_wake(Profile *profile, ProfileSleep sleep);
void profile_answered(Profile *profile, ProfileSleep order, uint64_t ordered_nsec, const Spent *spent);
void profile_round(Profile *profile); /* a round has ended */

/* The time of each part. Pure. */
void profile_divide(const ProfileSums *sums, uint64_t ret_nsec[_PROFILE_PART_MAX]);
/* PROFILE_NAME in a directory. 0, or a negative errno. */
int profile_write(const Profile *profile, int directory_fd);
