/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes the episodes of an evaluation as a data set. An actor plays them in its sandbox
 * (actor/trial/play.c) and reports each step. */
#include "actorctl/export/rollouts.h"

#include "actorctl/export/data-set.h"
#include "actorctl/follow.h"
#include "actorctl/recording/policy.h"
#include "actorctl/trial.h"
#include "lib/cleanup.h"
#include "lib/slot.h"

static void take_row(const TrialRow *row, void *userdata) {
        DataSet *set = userdata;

        if (row->kind == TRIAL_SPEC)
                data_set_describe(set, &row->spec->spec);
        if (row->kind == TRIAL_RESET)
                data_set_begin(set, row->numbers, row->n_numbers);
        if (row->kind == TRIAL_STEP) {
                const TrialStep *step = row->head;

                data_set_step(set, &(DataSetStep){
                                                   .action = row->numbers,
                                                   .observation = row->numbers +
                                                                  space_numbers(&set->spec.action),
                                                   .reward = step->reward,
                                                   .terminated = step->terminated != 0,
                                                   .truncated = step->truncated != 0,
                                   });
        }
        if (row->kind == TRIAL_EPISODE)
                data_set_end(set);
}

ExitStatus rollouts_export(const Options *options, const NamedCheckpoint *from, const char *default_name) {
        const TrialRequest request = {
                .kind = TRIAL_PLAY_STEPS,
                .n_episodes = options->n_episodes > 0 ? options->n_episodes : EPISODES_DEFAULT,
        };
        _cleanup_(data_set_done) DataSet set = DATA_SET_EMPTY;
        JobFile job_file;
        ExitStatus status;

        follow_prepare(); /* so that Ctrl-C leaves no part of the data set behind */
        status = job_file_load_text(&job_file, from->name, from->text, options->sets);
        if (status == STATUS_OK)
                status = data_set_open(&set, options->output ?: default_name);
        if (status == STATUS_OK)
                status = policy_play(from, &job_file, &request, NULL, take_row, &set);
        if (status == STATUS_OK)
                status = data_set_commit(&set, &job_file.settings, options->quiet);
        job_file_done(&job_file);
        return status;
}
