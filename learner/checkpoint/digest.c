/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A digest of a learner's whole state: all networks with their targets and optimisers, stores, running
 * statistics, adapted numbers of an algorithm. If two policies have equal digests, the two jobs act alike.
 * If two states have equal digests, the jobs would also continue alike.
 *
 * It leaves out the slots' snapshots, which belong to actors: a plugin may leave unused bytes in them unset.
 * It also leaves out the ordinals of actors' invocations, the times of overlapping rounds, and the policy
 * versions that are still in use. */
#include <assert.h>
#include <nettle/sha2.h>
#include <string.h>

#include "learner/learner.h"

static bool is_learned(const char *name) {
        static const char *const others[] = { "slots.snapshots.", "arrival.", "actors.", "policy.banks" };

        for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
                if (strncmp(name, others[i], strlen(others[i])) == 0)
                        return false;
        return true;
}

void learner_hash_state(const TensorRow *rows, size_t n, uint8_t ret_sha256[32]) {
        struct sha256_ctx sha;

        assert(rows);

        sha256_init(&sha);
        for (size_t i = 0; i < n; i++) {
                const TensorRow *row = &rows[i];

                if (!is_learned(row->name))
                        continue;
                sha256_update(&sha, strlen(row->name) + 1, (const uint8_t *) row->name);
                sha256_update(&sha, tensor_bytes(row), row->data);
        }
        sha256_digest(&sha, 32, ret_sha256);
}
