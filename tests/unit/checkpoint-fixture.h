/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A learner of two actors whose checkpoints are written, damaged and restored. */
#pragma once

#include <fcntl.h>
#include <glib/gstdio.h>
#include <unistd.h>

#include "tests/unit/learner-fixture.h"

#define SECTIONS                                                                               \
        "[Scaling]\nActors=2\n[Actor]\nEnvsPerActor=3\nRolloutSteps=16\n"                      \
        "[Learner]\nHiddenLayers=6 5\nEpochs=2\nMinibatchSize=32\nNormalizeObservations=yes\n" \
        "NormalizeRewards=yes\nKLWeight=0.2\n"

typedef struct Place {
        char *directory;
        int fd;
} Place;

void place_open(Place *place);
void place_close(Place *place);
void open_bed(Bed *bed, const char *more, int state_fd, int checkpoint_fd);

/* Plays the rounds first + 1 to end, with two actors whose snapshots differ in each round. Round r + 1 reads
 * the snapshots of bank (r + parity) % 2. */
Answer play(Bed *bed, uint64_t first, uint64_t end, uint32_t parity);
int checkpoint(Bed *bed, const Place *place, uint64_t round, Answer *ret);
Answer restore_from(const char *more, int fd);

/* Makes a temporary file with these n bytes. */
int file_of(const char *content, gsize n);

/* Whether the learner accepts the file. All files are tried on one learner, since opening one takes most of
 * the time. */
unsigned count_accepted(Bed *bed, char *content, gsize n);
