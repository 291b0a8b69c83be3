/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A page is one file without scripts or external parts. So readers can open it from an email and print it.
 * It follows the reader's choice of light or dark. */
#include "actorctl/report/page.h"

#include <string.h>

#include "lib/sanitise.h"

struct Page {
        PageFormat format;
        GString *text;
        bool in_list;
};

static const char style[] =
                ":root{color-scheme:light dark}\n"
                "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:0 auto;padding:1rem}\n"
                "h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}\n"
                "div.wide{overflow-x:auto}\n"
                "table{border-collapse:collapse}\n"
                "th,td{padding:.2rem .8rem .2rem 0;text-align:right;vertical-align:top}\n"
                "th:first-child,td:first-child{text-align:left}\n"
                "td:not(:first-child){white-space:nowrap}\n"
                "td:only-child,table.facts td{text-align:left;white-space:normal;overflow-wrap:anywhere}\n"
                "tr+tr td{border-top:1px solid color-mix(in srgb,currentColor 20%,transparent)}\n"
                "i.bar{display:block;height:.7rem;background:#2a78c2;min-width:1px}\n"
                "table.facts td:first-child{overflow-wrap:normal;min-width:8rem}\n"
                "figure{margin:1rem 0}svg{max-width:100%;height:auto}\n"
                "pre{overflow-x:auto;font-size:.85rem}\n"
                "@media print{details{display:none}h2{break-after:avoid}tr{break-inside:avoid}}\n";

/* Replaces characters that control a terminal, or turn or hide text, in foreign strings. Line breaks
 * stay. */
static char *sanitise_lines(const char *text) {
        GString *safe = g_string_new(NULL);

        for (;;) {
                size_t n = strcspn(text, "\n");

                sanitise_append(safe, text, n, true);
                if (text[n] == '\0')
                        return g_string_free(safe, FALSE);
                g_string_append_c(safe, '\n');
                text += n + 1;
        }
}

/* In Markdown, escapes the characters that could begin a link, a tag, a cell or an emphasis. */
static void add_escaped(Page *page, const char *foreign) {
        g_autofree char *safe = sanitise_lines(foreign);
        const char *text = safe;

        if (page->format == PAGE_HTML) {
                g_autofree char *escaped = g_markup_escape_text(text, -1);

                g_string_append(page->text, escaped);
                return;
        }
        for (; *text; text++) {
                if (strchr("\\`*_[]<>|#", *text))
                        g_string_append_c(page->text, '\\');
                g_string_append_c(page->text, *text == '\n' ? ' ' : *text);
        }
}

static void end_list(Page *page) {
        if (page->in_list)
                g_string_append(page->text, page->format == PAGE_HTML ? "</ul>\n" : "\n");
        page->in_list = false;
}

static void add_between(Page *page, const char *before, const char *text, const char *after) {
        g_string_append(page->text, before);
        add_escaped(page, text);
        g_string_append(page->text, after);
}

Page *page_new(PageFormat format, const char *title) {
        Page *page = g_new0(Page, 1);

        page->format = format;
        page->text = g_string_new(NULL);
        if (format == PAGE_MD)
                return page;
        g_string_append(page->text, "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
                                    "<meta name=\"viewport\" content=\"width=device-width\">\n");
        add_between(page, "<title>", title, "</title>\n");
        g_string_append_printf(page->text, "<style>\n%s</style>\n<body>\n", style);
        return page;
}

void page_heading(Page *page, unsigned level, const char *text) {
        g_autofree char *before = NULL, *after = NULL;

        end_list(page);
        if (page->format == PAGE_HTML) {
                before = g_strdup_printf("<h%u>", level);
                after = g_strdup_printf("</h%u>\n", level);
        } else {
                before = g_strdup(level == 1 ? "# " : "## ");
                after = g_strdup("\n\n");
        }
        add_between(page, before, text, after);
}

void page_paragraph(Page *page, const char *text) {
        end_list(page);
        if (page->format == PAGE_HTML)
                add_between(page, "<p>", text, "</p>\n");
        else
                add_between(page, "", text, "\n\n");
}

void page_item(Page *page, const char *text) {
        if (!page->in_list && page->format == PAGE_HTML)
                g_string_append(page->text, "<ul>\n");
        page->in_list = true;
        if (page->format == PAGE_HTML)
                add_between(page, "<li>", text, "</li>\n");
        else
                add_between(page, "* ", text, "\n");
}

static void add_row(Page *page, const GPtrArray *cells, guint row, guint columns, const double *share) {
        bool html = page->format == PAGE_HTML;

        g_string_append(page->text, html ? "<tr>" : "|");
        for (guint i = 0; i < columns; i++) {
                const char *text = cells->pdata[row * columns + i];

                if (html)
                        add_between(page, row == 0 ? "<th>" : "<td>", text, row == 0 ? "</th>" : "</td>");
                else
                        add_between(page, " ", text, " |");
        }
        if (html && share && row > 0)
                g_string_append_printf(page->text,
                                "<td style=\"width:30%%\"><i class=\"bar\" style=\"width:%.1f%%\"></i></td>",
                                100 * CLAMP(share[row], 0, 1));
        g_string_append(page->text, html ? "</tr>\n" : "\n");
}

void page_table(Page *page, const GPtrArray *cells, guint columns, const double *share) {
        bool html = page->format == PAGE_HTML;

        end_list(page);
        if (html)
                g_string_append(page->text, columns == 2 && !share ? "<table class=\"facts\">\n"
                                                                   : "<div class=\"wide\"><table>\n");
        for (guint row = 0; row < cells->len / columns; row++) {
                add_row(page, cells, row, columns, share);
                if (row > 0 || html)
                        continue;
                g_string_append(page->text, "|---|");
                for (guint i = 1; i < columns; i++)
                        g_string_append(page->text, "--:|");
                g_string_append_c(page->text, '\n');
        }
        if (html)
                g_string_append(page->text, columns == 2 && !share ? "</table>\n" : "</table></div>\n");
        else
                g_string_append_c(page->text, '\n');
}

/* This program made the picture, so its texts are escaped already. HTML allows no XML declaration, so the
 * text before <svg is left out. */
void page_svg(Page *page, const char *svg) {
        const char *begin = strstr(svg, "<svg");

        end_list(page);
        if (page->format == PAGE_HTML)
                g_string_append_printf(page->text, "<figure>%s</figure>\n", begin ? begin : "");
}

void page_plot(Page *page, const Plot *plot) {
        g_autofree char *svg = NULL;
        size_t n;

        if (page->format != PAGE_HTML || !plot_has_data(plot))
                return;
        svg = plot_to_svg(plot, &n);
        page_svg(page, svg);
}

void page_fold(Page *page, const char *summary, const char *foreign) {
        g_autofree char *safe = sanitise_lines(foreign);
        const char *text = safe;

        end_list(page);
        if (page->format == PAGE_HTML) {
                add_between(page, "<details><summary>", summary, "</summary>\n");
                add_between(page, "<pre>", text, "</pre></details>\n");
                return;
        }
        page_heading(page, 2, summary);
        /* Indented lines are shown unchanged, whatever they contain. */
        g_string_append(page->text, "    ");
        for (; *text; text++) {
                g_string_append_c(page->text, *text);
                if (*text == '\n' && text[1])
                        g_string_append(page->text, "    ");
        }
        g_string_append(page->text, "\n");
}

char *page_finish(Page *page) {
        end_list(page);
        if (page->format == PAGE_HTML)
                g_string_append(page->text, "</body>\n</html>\n");
        return g_string_free(g_steal_pointer(&page->text), FALSE);
}

Page *page_free(Page *page) {
        if (!page)
                return NULL;
        if (page->text)
                g_string_free(page->text, TRUE);
        g_free(page);
        return NULL;
}
