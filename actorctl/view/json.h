/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* json-glib builds, prints and parses nodes of JSON. This file checks json-glib's input and corrects its
 * output. All input of json-glib goes through this file, and so does each printed node that may have
 * numbers. (Some files print rows of numbers without a node.) */
#pragma once

#include <json-glib/json-glib.h>

#include "actorctl/actorctl.h"

/* The version of packaging/schemas/actorctl.json. Each object that json_print() prints has it as its member
 * `schema`. Raise it when a member is renamed, removed, or gets another meaning; new members do not
 * count. */
#define JSON_SCHEMA 1

/* null if the value is not finite. */
JsonNode *json_real(double value);
JsonNode *json_unsigned(uint64_t value);
/* The number of a node that json_unsigned() or the parser has made; of a real number the whole part. */
uint64_t json_get_unsigned(JsonNode *node);
/* Microseconds since 1970; null if they are 0. */
JsonNode *json_usec(uint64_t usec);
/* null if the word is empty. */
JsonNode *json_word(const char *value);

/* The text of a node; g_free(). ret_n may be NULL. */
char *json_text(JsonNode *node, bool pretty, size_t *ret_n);
/* Prints a node and a newline to standard output. An object also gets the member `schema`. */
void json_print(JsonNode *node, JsonMode mode);
/* Any text as a string of JSON, with quotes; g_free(). */
char *json_quote(const char *text);

/* Both functions return 0, with *ret NULL for an empty text; or a negative errno with *ret_reason
 * (g_free()), without the file's name. -ENOENT: there is no such file. */
int json_parse(const char *text, size_t n, JsonNode **ret, char **ret_reason);
int json_read(const char *file, JsonNode **ret, char **ret_reason);
