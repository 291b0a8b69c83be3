/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* All JSON that comes in and goes out: json-glib builds the nodes, and what it prints and takes is looked at
 * here. */
#pragma once

#include <json-glib/json-glib.h>

#include "actorctl/actorctl.h"

/* null when it is not finite. */
JsonNode *json_real(double value);
JsonNode *json_unsigned(uint64_t value);

/* A node's text; g_free(). ret_n: NULL where nobody asks. */
char *json_text(JsonNode *node, bool pretty, size_t *ret_n);
/* A node to standard output, with a newline. */
void json_print(JsonNode *node, JsonMode mode);
/* A foreign text as a string of JSON, with its quotes; g_free(). */
char *json_quote(const char *text);

/* Both: 0, and *ret is NULL where there is nothing but blanks; or a negative errno with *ret_reason, to be
 * freed with g_free(): why, without the file's name. -ENOENT: there is no such file. */
int json_parse(const char *text, size_t n, JsonNode **ret, char **ret_reason);
int json_read(const char *file, JsonNode **ret, char **ret_reason);
