/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The file may be hostile, so its nesting, its anchors, its texts and its entries have limits. */
#include "actorctl/import/entry.h"

#include <string.h>
#include <yaml.h>

#define DEPTH_MAX   32
#define ANCHORS_MAX 1000
#define MERGES_MAX  100
#define TEXT_MAX    1000u
#define ENTRIES_MAX 10000

typedef struct Reader {
        const char *name; /* the entry's name; NULL: the only entry */
        GHashTable *entry;
        yaml_document_t document;
        bool has_document;
        unsigned n_merged; /* how many mappings' keys were taken */
        char *reason;
} Reader;

__attribute__((format(printf, 2, 3))) static bool refuse(Reader *reader, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        if (!reader->reason)
                reader->reason = g_strdup_vprintf(format, arguments);
        va_end(arguments);
        return false;
}

static bool refuse_text(Reader *reader, const yaml_parser_t *parser) {
        return refuse(reader, "line %zu: it is not YAML: %s", parser->problem_mark.line + 1,
                        parser->problem ? parser->problem : "no reason is given");
}

static int change_of_depth(yaml_event_type_t type) {
        switch (type) {
        case YAML_SEQUENCE_START_EVENT:
        case YAML_MAPPING_START_EVENT: return 1;
        case YAML_SEQUENCE_END_EVENT:
        case YAML_MAPPING_END_EVENT: return -1;
        default: return 0;
        }
}

static bool has_anchor(const yaml_event_t *event) {
        switch (event->type) {
        case YAML_SCALAR_EVENT: return event->data.scalar.anchor;
        case YAML_SEQUENCE_START_EVENT: return event->data.sequence_start.anchor;
        case YAML_MAPPING_START_EVENT: return event->data.mapping_start.anchor;
        default: return false;
        }
}

/* Limits the time of libyaml, which is quadratic in the nesting and in the number of anchors. So the events
 * are counted first. */
static bool check_size(Reader *reader, yaml_parser_t *parser) {
        unsigned n_anchors = 0;
        bool ended = false;
        yaml_event_t event;
        int depth = 0;

        while (!ended) {
                if (!yaml_parser_parse(parser, &event))
                        return refuse_text(reader, parser);
                ended = event.type == YAML_STREAM_END_EVENT;
                depth += change_of_depth(event.type);
                n_anchors += has_anchor(&event);
                yaml_event_delete(&event);
                if (depth > DEPTH_MAX)
                        return refuse(reader, "line %zu: lists and mappings are nested more than %d deep",
                                        parser->mark.line + 1, DEPTH_MAX);
                if (n_anchors > ANCHORS_MAX)
                        return refuse(reader, "line %zu: there are more than %d anchors (&)",
                                        parser->mark.line + 1, ANCHORS_MAX);
        }
        return true;
}

static bool build(Reader *reader, yaml_parser_t *parser) {
        reader->has_document = yaml_parser_load(parser, &reader->document);
        return reader->has_document || refuse_text(reader, parser);
}

static bool with_parser(Reader *reader, const char *text, size_t n,
                bool (*read)(Reader *reader, yaml_parser_t *parser)) {
        yaml_parser_t parser;
        bool ok;

        if (!yaml_parser_initialize(&parser))
                return refuse(reader, "there is not enough memory for it");
        yaml_parser_set_input_string(&parser, (const unsigned char *) text, n);
        ok = read(reader, &parser);
        yaml_parser_delete(&parser);
        return ok;
}

static bool load(Reader *reader, const char *text, size_t n) {
        return with_parser(reader, text, n, check_size) && with_parser(reader, text, n, build);
}

static const char *scalar(const yaml_node_t *node) {
        return node && node->type == YAML_SCALAR_NODE ? (const char *) node->data.scalar.value : NULL;
}

/* The text of a scalar, or of a list in brackets. NULL: it is too deep or too long, such as a list of
 * aliases. */
static char *text_of(Reader *reader, const yaml_node_t *node) {
        g_autoptr(GString) text = g_string_new("[");

        if (scalar(node))
                return strlen(scalar(node)) > TEXT_MAX ? NULL : g_strdup(scalar(node));
        if (!node || node->type != YAML_SEQUENCE_NODE)
                return NULL;
        for (yaml_node_item_t *item = node->data.sequence.items.start; item < node->data.sequence.items.top;
                        item++) {
                const char *part = scalar(yaml_document_get_node(&reader->document, *item));

                if (!part || strlen(part) > TEXT_MAX || text->len > TEXT_MAX)
                        return NULL;
                g_string_append_printf(text, "%s%s", text->len > 1 ? ", " : "", part);
        }
        g_string_append_c(text, ']');
        return g_strdup(text->str);
}

/* `<<: *name` takes another entry's keys, except those that this entry has itself. The chain may lead back
 * to this entry, so the number of mappings is limited. */
static bool take_mapping(Reader *reader, const yaml_node_t *node) {
        if (++reader->n_merged > MERGES_MAX)
                return refuse(reader, "entries copy each other's keys (<<) more than %d times", MERGES_MAX);

        for (yaml_node_pair_t *pair = node->data.mapping.pairs.start; pair < node->data.mapping.pairs.top;
                        pair++) {
                const char *key = scalar(yaml_document_get_node(&reader->document, pair->key));
                yaml_node_t *value = yaml_document_get_node(&reader->document, pair->value);
                char *text;

                if (!key || (strcmp(key, "<<") == 0) || g_hash_table_contains(reader->entry, key))
                        continue;
                text = text_of(reader, value);
                g_hash_table_insert(reader->entry, g_strdup(key), text ? text : g_strdup("{...}"));
        }
        for (yaml_node_pair_t *pair = node->data.mapping.pairs.start; pair < node->data.mapping.pairs.top;
                        pair++) {
                const char *key = scalar(yaml_document_get_node(&reader->document, pair->key));
                yaml_node_t *value = yaml_document_get_node(&reader->document, pair->value);

                if (!key || strcmp(key, "<<") != 0)
                        continue;
                if (!value || value->type != YAML_MAPPING_NODE)
                        return refuse(reader, "the value of a key << must be an entry of the file");
                if (!take_mapping(reader, value))
                        return false;
        }
        return true;
}

/* The entry that the user named, or the only one. NULL: refuse() has the reason. */
static const yaml_node_t *find_entry(Reader *reader, const char **ret_name) {
        g_autoptr(GString) names = g_string_new(NULL);
        yaml_node_t *root = yaml_document_get_root_node(&reader->document), *found = NULL;
        size_t n = 0;

        if (!root || root->type != YAML_MAPPING_NODE) {
                (void) refuse(reader, "it has no entries, which map names of environments to settings");
                return NULL;
        }
        for (yaml_node_pair_t *pair = root->data.mapping.pairs.start; pair < root->data.mapping.pairs.top;
                        pair++) {
                const char *key = scalar(yaml_document_get_node(&reader->document, pair->key));
                yaml_node_t *value = yaml_document_get_node(&reader->document, pair->value);

                if (!key || !value || value->type != YAML_MAPPING_NODE || n == ENTRIES_MAX)
                        continue;
                if (reader->name && strcmp(key, reader->name) != 0) {
                        g_string_append_printf(names, "%s%s", names->len > 0 ? ", " : "", key);
                        continue;
                }
                found = value;
                *ret_name = key;
                n++;
                if (!reader->name)
                        g_string_append_printf(names, "%s%s", names->len > 0 ? ", " : "", key);
        }
        if (names->len > 400) {
                g_string_truncate(names, 400);
                g_string_append(names, ", ...");
        }
        if (n == 0 && reader->name)
                (void) refuse(reader, "there is no entry %s; there are: %s", reader->name, names->str);
        else if (n == 0)
                (void) refuse(reader, "it has no entries");
        else if (n > 1 && !reader->name)
                (void) refuse(reader, "name one of its entries after the file: %s", names->str);
        return reader->reason ? NULL : found;
}

bool entry_read(const char *text, size_t n, const char *name, GHashTable *entry, char **ret_name,
                char **ret_reason) {
        Reader reader = { .name = name, .entry = entry };
        const yaml_node_t *node = NULL;
        const char *found = NULL;
        bool ok;

        if (load(&reader, text, n))
                node = find_entry(&reader, &found);
        ok = node && take_mapping(&reader, node);
        *ret_name = ok ? g_strdup(found) : NULL;
        *ret_reason = reader.reason;
        if (reader.has_document)
                yaml_document_delete(&reader.document);
        return ok;
}
