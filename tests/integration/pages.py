# SPDX-License-Identifier: LGPL-2.1-or-later
"""The command lines of the pages: found in one way for all tests, and typed in as a reader types them."""
import glob, shlex

from typing import NamedTuple

from story import *

PAGES = sorted(os.path.relpath(path, ROOT) for path in (*glob.glob(ROOT + "/docs/**/*.md", recursive=True), *glob.glob(ROOT + "/docs/*.[1-8]"),
                                                        ROOT + "/README.md", ROOT + "/python/README.md"))
# In a block that shows more than commands, a line with one of these as its first word is one. Scripts of the tree are named by their paths.
PROGRAMS = ("actorctl", "build/actorctl", "make", "man", "python3", "sbatch", "sqlite3", "sudo", "sudoedit", "systemctl")
TRAINS = ("run", "experiment", "scheduler")
INTERRUPTED = (0, 130)


class Command(NamedTuple):
    text: str  # without its comment
    line: int  # of the page
    alone: bool  # a line of a block; else words within a sentence


class Block(NamedTuple):
    kind: str  # of a fence: sh, ini, python, …
    rest: str  # of the fence's line
    text: str


def read(page):
    return open(os.path.join(ROOT, page)).read()


def blocks(page):
    """The blocks of a page that stand between fences."""
    return [Block(*found) for found in re.findall(r"^```(\w+) ?([^\n]*)\n(.*?)^```$", read(page), re.M | re.S)]


def plain(roff):
    for escape, letter in (("\\-", "-"), ("\\e", "\\"), ("\\(aq", "'"), ("\\&", ""), ("\\fR|\\fP", "|")):
        roff = roff.replace(escape, letter)
    return roff


def is_command(line):
    word, _, rest = line.strip().partition(" ")
    return rest.isascii() and (word in PROGRAMS or word.startswith(("tests/", "packaging/")) or word.endswith(("/bin/pip", "/bin/python")))


def of_markdown(text):
    shell = fenced = goes_on = False
    for i, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
            shell = fenced and line[3:].split()[:1] == ["sh"]
        elif shell or goes_on or (line.startswith("    ") and not fenced and is_command(line)):
            goes_on = line.endswith("\\")
            yield i, line, True
        elif not fenced:
            yield from ((i, words, False) for words in re.findall(r"(?<!`)`((?:build/)?actorctl [^`]+)(?:`|$)", line))


def of_roff(text):
    shown = goes_on = False
    for i, line in enumerate(map(plain, text.splitlines()), 1):
        if line in (".EX", ".nf", ".EE", ".fi"):
            shown = line in (".EX", ".nf")
        elif shown and (goes_on or is_command(line)):
            goes_on = line.endswith("\\")
            yield i, line, True
        elif not shown:
            yield from ((i, words, False) for words in re.findall(r'^\.[BIR]+ "?(actorctl [a-z-][^"]*)', line))


def commands(page):
    found = []
    for i, line, alone in (of_markdown if page.endswith(".md") else of_roff)(read(page)):
        line = re.sub(r"\s+#\s.*$", "", line)
        if found and found[-1].text.endswith("\\"):
            found[-1] = found[-1]._replace(text=found[-1].text[:-1].rstrip() + " " + line.strip())
        elif line.strip():
            found.append(Command(line.strip(), i, alone))
    return found


def section(page, heading):
    """The command lines of the block below the paragraph that begins with these words."""
    text = read(page)
    first = text[:re.search(rf"^{re.escape(heading)}", text, re.M).start()].count("\n") + 1
    last = first + len(re.match(r"[^\n]*\n\n((?:    [^\n]*\n|\n)+)", text.split("\n", first - 1)[-1]).group(0).splitlines())
    return [c.text for c in commands(page) if c.alone and first < c.line <= last]


def type_in(line, place, home, env=(), seconds=4):
    """(status, what was printed, whether it trains) of a command line. One that trains is interrupted after some seconds, as by Ctrl-C."""
    words = line.split()
    trains = words[0] in ("actorctl", "build/actorctl") and words[1] in TRAINS
    all_env = {key: value for key, value in os.environ.items() if not key.startswith("XDG_")}
    all_env.update(dict(env), HOME=home, PATH=BUILD + ":" + all_env["PATH"])
    p = subprocess.Popen(["bash", "-c", "exec " + line if trains else line], cwd=place, env=all_env, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        out, _ = p.communicate(timeout=seconds if trains else 100 * PATIENCE)
    except subprocess.TimeoutExpired:
        p.send_signal(signal.SIGINT)
        out, _ = p.communicate(timeout=30 * PATIENCE)
    return p.returncode, out, trains
