/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* All JSON that goes out: json-glib builds the nodes, and what it prints is looked at here. */
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
