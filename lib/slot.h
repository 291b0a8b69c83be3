/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Layouts of shared memory, computed once from checked input; and the checks of a spec that a plugin wrote. Pure. */
#pragma once

#include "include/policy.h"
#include "include/settings.h"
#include "include/slot.h"

/* 0, or -EINVAL with *ret_field: number of the first field that is impossible (FAULT_SPEC's detail). */
int spec_check(const ActordEnvSpec *spec, int *ret_field);

size_t element_bytes(uint32_t element);                 /* ActordElement; 0: unknown */
uint64_t space_numbers(const ActordSpace *space);       /* numbers in one value of the space */

/* 0; -E2BIG: the segment would pass SEGMENT_BYTES_MAX; -EINVAL. */
int segment_layout(const ActordEnvSpec *spec, uint32_t envs, uint32_t steps, SegmentLayout *ret);
int policy_layout(const Network *network, PolicyLayout *ret);

/* The whole page: spec_check, network_derive, layouts. 0, -E2BIG, -EINVAL. */
int job_page_make(const JobSettings *settings, const ActordEnvSpec *spec, JobPage *ret);

static inline SlotState *segment_snapshot(void *segment, const SegmentLayout *l, uint32_t bank, uint32_t e) {
        return (SlotState *) ((uint8_t *) segment + l->snapshots_at[bank & 1] + e * l->snapshot_stride);
}
