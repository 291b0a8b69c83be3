/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads the texts that Slurm's commands print, and writes those that they take. Pure. No text is trusted: a
 * line with an unexpected form is skipped. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TEXT_SCRIPT_MAX = 8192, TEXT_OPTIONS_MAX = 32, TEXT_ADDRESS_BYTES = 256 };

/* The format (-O) of squeue that text_job_parse() reads. */
#define TEXT_JOB_FORMAT                                                                            \
        "JobID:20|,State:20|,SubmitTime:24|,StartTime:24|,EndTime:24|,NodeList:64|,exit_code:16|," \
        "tres-alloc:160|,Reason:100|,TimeUsed:16|"

typedef struct TextJob {
        char id[32], state[32], name[64], reason[104];
        /* seconds since 1970; 0: not known */
        int64_t asked, started, ended;
        int64_t used; /* seconds for which the job has run and was not suspended; -1: not known */
        uint64_t memory_bytes;
        uint32_t n_cpus, n_gpus;
        double billing;
        int exit_status; /* -1: not known */
} TextJob;

/* Parses one line of squeue. False: it has another form. */
bool text_job_parse(const char *line, size_t n, TextJob *ret);
/* Parses "cpu=2,mem=1000M,node=1,billing=2,gres/gpu=1". */
void text_tres_parse(const char *tres, TextJob *ret);
/* Parses "2026-11-24T16:56:26" in UTC; 0: it is not a time. */
int64_t text_time_parse(const char *text);
/* Parses "1-02:03:04", "02:03:04" or "3:04"; -1: it is no duration. */
int64_t text_duration_parse(const char *text);
/* Finds the job's number in the output of `sbatch --parsable`. False: there is none. */
bool text_submitted_parse(const char *output, char ret[32]);
/* Finds the line in which a script of text_parcel_script() prints its step: "12.3" for the job "12". Returns
 * the output after this line; NULL: there is no such line. */
const char *text_step_parse(const char *output, const char *job, char ret[32]);

/* The state of a job, by Slurm's word for it. */
typedef enum TextState { TEXT_PENDING, TEXT_RUNNING, TEXT_ENDING, TEXT_OVER, TEXT_UNKNOWN } TextState;
TextState text_state(const char *word);
/* One sentence about a job that has ended. */
void text_end(const TextJob *job, char words[256]);

/* Explains a refusal of sbatch in a sentence with advice. True: its cause may pass by itself (a full
 * queue). */
bool text_refusal(const char *output, const char *partition, const char *account, char words[256]);
/* Whether the job may be queued although sbatch failed: perhaps slurmctld got the request, and only its
 * answer was lost. */
bool text_may_be_queued(const char *output);
/* Whether a pending job would never start, by Slurm's reason. If so, words has a sentence. */
bool text_reason_is_final(const char *reason, char words[256]);
/* The most informative line of an output: the last one with "error", "failure" or "fatal", otherwise the
 * first. */
void text_best_line(const char *output, char *ret, size_t size);

/* The address of a node in the output of `sinfo -N -o "%P %o"`; "": there is none. all: a node of any
 * partition; otherwise one of the default partition, if it has nodes. */
void text_find_address(const char *output, bool all, char ret[TEXT_ADDRESS_BYTES]);
/* How many nodes `sinfo -N -o "%P ..."` lists: all, or those of the default partition, which has a star. */
size_t text_count_nodes(const char *output, bool all);

/* Splits [Slurm] Options= at white space, with quotes as in a shell but without expansion. It changes the
 * text. Returns the number of words; -E2BIG: there are too many; -EINVAL: a quote has no end. */
int text_options_split(char *text, char *ret[TEXT_OPTIONS_MAX]);
/* Says what to do about a word of [Slurm] Options= that is an option which only actord may set, even if it
 * is abbreviated: an option that changes the cluster, the number of jobs or nodes, a job's name or script,
 * how sbatch answers, how long a job lasts, or whether Slurm starts it twice. NULL: the word may stay. */
const char *text_option_refuse(const char *word);
/* Writes a batch script that executes this program. -E2BIG; -EINVAL: an argument cannot be quoted. */
int text_script(char *const argv[], char ret[TEXT_SCRIPT_MAX]);
/* Writes a batch script for a node that does not see the program's file. The program comes to `folder` in an
 * archive with this digest (cluster/parcel.h). The script prints its step as soon as the folder exists. */
int text_parcel_script(
                char *const argv[], const char *folder, const char *digest, char ret[TEXT_SCRIPT_MAX]);
