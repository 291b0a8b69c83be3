/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a checkpoint file says about the job that wrote it, and single tensors of it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Checks that the file is whole and turns its metadata ("Section.Key": "VALUE") into the text of a job file. name: for messages.
 * 0; or a negative errno with *ret_message, a sentence, g_free(). */
int checkpoint_job_text(int fd, const char *name, char **ret_text, char **ret_message);

/* The tensor `tensor` of n single floats. 0; or a negative errno with *ret_message, as above. */
int checkpoint_floats(
                int fd, const char *name, const char *tensor, size_t n, float *ret, char **ret_message);
int checkpoint_doubles(
                int fd, const char *name, const char *tensor, size_t n, double *ret, char **ret_message);
int checkpoint_integer(int fd, const char *name, const char *tensor, uint64_t *ret, char **ret_message);
