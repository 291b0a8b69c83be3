#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks docs/experiments/README.md: each row has a verdict, a page, and a command whose files exist, and each page and each file of cells has a row."""
import glob, os, re, sys

os.chdir(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGES = "docs/experiments"
COLUMNS = ["system", "claim", "test", "verdict", "figure", "command", "page"]
VERDICTS = ("reproduced", "not reproduced", "not testable here")
# The sources of a program of build/.
SOURCES = (("build/bench/", "tests/bench/{}.c"), ("build/", "{}/main.c"))


# Files that a command leaves where it runs, and that are not committed.
OF_RUNS = {"cells.csv"}


def text():
    with open(os.path.join(PAGES, "README.md"), encoding="utf-8") as f:
        return f.read()


def rows():
    lines = [[field.strip() for field in line.strip("|\n").split("|")] for line in text().splitlines() if line.startswith("|")]
    assert lines[0] == COLUMNS, lines[0]
    assert len(lines) > 20, len(lines)
    return [dict(zip(COLUMNS, line)) for line in lines[2:] if len(line) == len(COLUMNS) or complain(line)]


def complain(line):
    raise AssertionError(f"{len(line)} columns instead of {len(COLUMNS)}: {line[:3]}")


def source_of(path):
    for prefix, pattern in SOURCES:
        if path.startswith(prefix):
            return pattern.format(path[len(prefix):])
    return path


def each_row_has_a_verdict_and_a_figure():
    for row in rows():
        assert re.match(rf"({'|'.join(VERDICTS)})($|[:,] )", row["verdict"]), row
        assert row["figure"] or row["verdict"].startswith("not testable here: "), row
        assert row["claim"], row


def commands_name_files_that_exist():
    with open("tests/tests.mk", encoding="utf-8") as f:
        targets = f.read()
    for row in rows():
        command = re.fullmatch(r"`([^`]+)`", row["command"])
        assert command, row["command"]
        words = command[1].split()
        paths = [word for word in words if "/" in word]
        missing = [path for path in paths if not os.path.exists(source_of(path))]
        assert not missing, missing
        if words[0] == "make":
            assert re.search(rf"(?m)^{words[1]}:", targets), words[1]
        else:
            assert paths, command[1]


def every_page_has_a_row():
    linked = {link for row in rows() for link in re.findall(r"\]\(([\w.-]+)\)", row["page"])}
    pages = {os.path.basename(path) for path in glob.glob(PAGES + "/*.md")} - {"README.md"}
    assert linked == pages, f"without a row: {sorted(pages - linked)}; no such page: {sorted(linked - pages)}"


def every_file_of_cells_is_shown():
    """A page's cells are there, and a script or a page shows each file of them."""
    pages, scripts = {}, ""
    for path in glob.glob(PAGES + "/*.md"):
        with open(path, encoding="utf-8") as f:
            pages[os.path.basename(path)] = f.read()
    for path in glob.glob("tests/experiments/*.py"):
        with open(path, encoding="utf-8") as f:
            scripts += f.read()
    files = {os.path.basename(path) for path in glob.glob(PAGES + "/*.csv")}
    for page, words in pages.items():
        named = set(re.findall(r"(?<![\w/-])([\w-]+\.csv)\b", words)) - OF_RUNS
        assert named <= files, f"{page}: {sorted(named - files)}"
    shown = "".join(pages.values()) + scripts
    lost = [name for name in files if not re.search(rf"\b{re.escape(name)}\b|\"{re.escape(name[:-4])}\"", shown)]
    assert not lost, f"shown by nothing: {sorted(lost)}"


def main():
    checks = [each_row_has_a_verdict_and_a_figure, commands_name_files_that_exist, every_page_has_a_row, every_file_of_cells_is_shown]
    failed = 0
    print(f"1..{len(checks)}")
    for i, check in enumerate(checks, 1):
        try:
            check()
            print(f"ok {i} - {check.__name__.replace('_', ' ')}")
        except AssertionError as e:
            failed += 1
            print(f"not ok {i} - {check.__name__.replace('_', ' ')}\n# {e}")
    sys.exit(1 if failed else 0)


main()
