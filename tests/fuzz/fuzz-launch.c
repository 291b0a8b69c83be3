/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads any bytes as a launch record. The spawner's check refuses the record with a sentence, or the record
 * asks for nothing beyond what the terms of this spawner allow. The first byte chooses the sender and the
 * terms. The rest is laid over a record that would be accepted. */
#include <glib.h>
#include <stdint.h>
#include <string.h>

#include "lib/directory.h"
#include "lib/string-tables.h"
#include "spawner/spawner.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CHOICE_USER = 1, CHOICE_SYSTEM = 2, CHOICE_SIZE = 4, CHOICE_FDS = 8, USER = 1000 };

static Launch good_launch(uid_t uid) {
        Launch launch = { .abi = LAUNCH_ABI,
                .struct_bytes = sizeof(Launch),
                .job = 1,
                .life = 1,
                .uid_first = uid == 0 ? UID_RANGE_FIRST : uid,
                .n_uids = uid == 0 ? UIDS_MAX : 1 };

        return launch;
}

static void check_name(const char *name) {
        g_assert(*name && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0);
}

/* Asserts what mounts.c and handover.c assume of a record that was accepted. */
static void check_taken(const Launch *launch, const Terms *terms, uid_t uid, size_t n_fds) {
        g_assert_cmpuint(launch->n_mounts, <=, LAUNCH_MOUNTS_MAX);
        g_assert(launch->purpose >= LAUNCH_SETTLE ? n_fds == 0
                                                  : n_fds == _LAUNCH_FD_FIXED + launch->n_mounts);
        for (uint32_t i = 0; i < launch->n_mounts; i++) {
                const LaunchMount *mount = &launch->mounts[i];

                g_assert_nonnull(memchr(mount->at, 0, sizeof(mount->at)));
                if (g_str_has_prefix(mount->at, PLUGIN_DIRECTORY))
                        check_name(mount->at + strlen(PLUGIN_DIRECTORY));
                else
                        g_assert(directory_kind_at(mount->at) < _DIRECTORY_KIND_MAX ||
                                        strcmp(mount->at, DATASET_FILE) == 0);
                g_assert_cmpuint(mount->read_only, ==, 1);
        }
        if (launch->purpose >= LAUNCH_SETTLE)
                return;
        if (uid == 0)
                g_assert(launch->uid_first >= UID_RANGE_FIRST &&
                                launch->uid_first + (uint64_t) launch->n_uids <= UID_RANGE_END);
        else
                g_assert(launch->uid_first == uid && launch->n_uids == 1);
        if (launch->sandbox != SANDBOX_CHOICE_AUTO)
                g_assert_cmpuint(sandbox_choice_level(launch->sandbox), >=, terms->least_sandbox);
        if (terms->system)
                g_assert(launch->manager == LAUNCH_MANAGER_SYSTEM && !launch->exit_with_daemon);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        uint8_t choice = size > 0 ? data[0] : 0;
        uid_t uid = choice & CHOICE_USER ? USER : 0;
        const Terms terms = { .system = choice & CHOICE_SYSTEM,
                .least_sandbox = choice & CHOICE_SYSTEM ? SANDBOX_LEVEL_PROCESS : SANDBOX_LEVEL_NONE };
        Launch launch = good_launch(uid);
        LaunchAnswer answer = {};
        size_t n_bytes = sizeof(launch), n_fds;
        int r;

        if (size > 1)
                memcpy((uint8_t *) &launch + (choice >> 4) * sizeof(uint64_t), data + 1,
                                MIN(size - 1, sizeof(launch) - (choice >> 4) * sizeof(uint64_t)));
        if (choice & CHOICE_SIZE)
                n_bytes = size;
        n_fds = launch.purpose >= LAUNCH_SETTLE ? 0 : (size_t) _LAUNCH_FD_FIXED + launch.n_mounts;
        if (choice & CHOICE_FDS)
                n_fds = size % (LAUNCH_FDS_MAX + 2);
        r = launch_check(&launch, n_bytes, n_fds, uid, &answer)
                            ?: launch_check_terms(&launch, &terms, &answer);
        if (r == 0) {
                check_taken(&launch, &terms, uid, n_fds);
                return 0;
        }
        g_assert_cmpint(answer.error, ==, r);
        g_assert_cmpuint(answer.step, ==, LAUNCH_STEP_MESSAGE);
        g_assert(memchr(answer.message, 0, sizeof(answer.message)) && strlen(answer.message) > 20);
        return 0;
}
