/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the time of a job's rounds went: the file of Profile=yes, for people and for programs. */
#pragma once

#include <json-glib/json-glib.h>
#include <stdbool.h>
#include "actorctl/actorctl.h"
#include "include/profile.h"

typedef struct ProfileView {
        uint64_t n_rounds, wall_nsec;
        uint64_t nsec[_PROFILE_PART_MAX];
        ProfileRate rates[_PRODUCT_MAX];
        double limit; /* operations of one core per second; 0: not measured */
} ProfileView;

/* Reads the profile in a state directory. The invoker writes it when it ends in good order. False: there is
 * none, or no round had ended. */
bool profile_read(const char *state_directory, ProfileView *ret);
/* Starts a learner to measure this host's limit, and sets profile->limit, unless the measurement fails. */
void profile_measure_limit(ProfileView *profile, uint32_t kernel_class);

void profile_print(const ProfileView *profile, const Options *options);
JsonNode *profile_to_json(const ProfileView *profile);
