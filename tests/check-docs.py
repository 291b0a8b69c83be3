#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compares the manual with what it describes: every setting with its default, every verb and option, the D-Bus listing, all examples."""
import os, re, shutil, subprocess, sys
import xml.etree.ElementTree as ElementTree
from sources import sources

os.chdir(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CTL = os.path.join(os.environ.get("B", "build"), "actorctl")


def read(path):
    with open(path) as f:
        return f.read()


def page(name):
    """The text of a page without its roff."""
    text = read("docs/" + name)
    text = re.sub(r'(?m)^\.\\".*$', "", text)
    return text.replace("\\-", "-")


def settings():
    """(section, key, default) of the table in include/settings.h."""
    rows = re.findall(r'^ +X\((\w+), (\w+), \w+, \w+, "([^"]*)", [^"]*"[^\n]*"\)', read("include/settings.h"), re.M)
    assert len(rows) > 50, rows
    return rows


def sections(text):
    """{section: text} of a page's `.SS [Section]` parts."""
    parts = re.split(r"(?m)^\.S[SH] \[(\w+)\].*$", text)
    return dict(zip(parts[1::2], parts[2::2]))


def job_conf_names_every_key():
    parts = sections(page("job.conf.5"))
    for section, key, default in settings():
        entry = re.search(rf"(?ms)^\.TP\n\.I {key}=$(.*?)(?=^\.TP|^\.S[SH]|\Z)", parts[section])
        assert entry, f"[{section}] {key}= is missing"
        want = f"Default: {default}." if default else "Default: unset."
        assert want in entry[1], f"[{section}] {key}=: no '{want}'"


def job_conf_names_the_algorithms_of_each_key():
    """A key that some algorithms do not read says which do ("For ppo and a2c."), or which do not ("Not for dqn.")."""
    readers, parts = {}, sections(page("job.conf.5"))
    table = algorithm_keys()
    for word, keys in table.items():
        for key in keys:
            readers.setdefault(key, set()).add(word)
    for key, want in readers.items():
        entry = next(e for e in (re.search(rf"(?ms)^\.TP\n\.I {key}=$(.*?)(?=^\.TP|^\.S[SH]|\Z)", t) for t in parts.values()) if e)[1]
        said, others = set(), set()
        for no, words in re.findall(r"\b(Not f|[Ff])or ([a-z][^.;:]*)", re.sub(r"\s+", " ", entry)):
            (others if no == "Not f" else said).update(set(re.findall(r"[\w-]+", words)) & set(table))
        assert said == want or not said and others and others == set(table) - want, f"{key}=: for {sorted(want)}, the page has {sorted(said)}"


def job_conf_names_nothing_else():
    known = {(s, k) for s, k, _ in settings()}
    for section, text in sections(page("job.conf.5")).items():
        for key in re.findall(r"(?m)^\.TP\n\.I (\w+)=$", text):
            assert (section, key) in known, f"[{section}] {key}= does not exist"


def all_conf_shows_every_default():
    found, section = {}, None
    for line in read("examples/all.conf").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif "=" in line and not line.startswith("#"):
            key, value = line.split("=", 1)
            found[section, key] = value
    for section, key, default in settings():
        assert (section, key) in found, f"[{section}] {key}= is missing"
        if (section, key) != ("Job", "Environment"):
            assert found[section, key] == default, f"[{section}] {key}={found[section, key]}, not {default}"
    assert len(found) == len(settings()), "there are keys that do not exist"


def verbs_and_options_are_described():
    text = page("actorctl.1")
    for verb in re.findall(r'\{ VERB_\w+, "(\w+)"', read("actorctl/main.c")):
        assert re.search(rf'(?m)^\.(BI|BR|B) "?{verb}\b', text), f"verb {verb} is missing"
    for option in re.findall(r'\{ "([\w-]+)", ', read("actorctl/options.c")):
        if option not in ("short", "pretty", "off"):
            assert f"--{option}" in text, f"option --{option} is missing"


def daemon_settings_are_described():
    text = page("actord.conf.5")
    table = re.search(r"#define DAEMON_SETTINGS\(X\)(.*?)\n\n", read("daemon/config.h"), re.S)[1]
    rows = re.findall(r'X\((\w+), \w+, \w+, ([^,]+),', table)
    for key, default in rows:
        default = re.sub(r"ull \* 1000000$", "", {"false": "no", "true": "yes"}.get(default, default.strip('"'))) or "unset"
        default = "unset" if default.isupper() else default  # a constant's name: the page gives the value
        entry = re.search(rf"(?ms)^\.I {key}=$(.*?)(?=^\.TP|^\.SH)", text)
        assert entry and f"Default: {default}." in entry[1], f"{key}= with its default {default} is missing"
    assert len(re.findall(r"(?m)^\.I \w+=$", text)) == len(rows)


def price_keys_are_described():
    text = page("actord-price.5")
    parts = dict(re.findall(r"(?ms)^\.SS (\[[^\n]*)\n(.*?)(?=^\.S[SH]|\Z)", text))
    rows = re.findall(r"X\(([A-Z]\w+), (\w+),", read("daemon/bill/price-private.h"))
    assert len(rows) > 15
    for section, key in rows:
        body = "".join(b for heading, b in parts.items() if f"[{section}]" in heading)
        assert f".I {key}=" in body, f"[{section}] {key}= is missing"


def listing(interface):
    """One line for each member of an interface, as the manual writes it."""
    lines = set()
    for m in interface.findall("method"):
        lines.add(m.get("name") + "(" + ", ".join(f'{a.get("direction")} {a.get("type")} {a.get("name")}' for a in m.findall("arg")) + ")")
    for s in interface.findall("signal"):
        lines.add(s.get("name") + "(" + ", ".join(f'{a.get("type")} {a.get("name")}' for a in s.findall("arg")) + ")")
    for p in interface.findall("property"):
        const = any(a.get("value") == "const" for a in p.findall("annotation"))
        lines.add(f'{"const " if const else ""}readonly {p.get("type")} {p.get("name")}')
    return lines


def algorithm_keys():
    """{word: keys that not all algorithms read}, from the table in lib/algorithm-traits.c."""
    table = re.search(r"#define ALGORITHMS\(X\)(.*?)\n#define", read("include/settings.h"), re.S)[1]
    words, text = re.findall(r'X\((\w+), "([\w-]+)"\)', table), read("lib/algorithm-traits.c")
    sets = {"BIT_" + name: {word} for name, word in words}
    for name, value in re.findall(r"^#define ([A-Z_]+) +(\([^\n]*?\))(?: +/\*.*)?$", text, re.M) * 4:
        try:
            sets[name] = evaluate(value, sets)
        except NameError:
            pass  # it may name one that stands further down; none is nested four levels deep
    rows = [(key, evaluate(value, sets)) for key, value in re.findall(r"\{ SETTING_[A-Za-z]+?_(\w+), ([^\n]*) \},\n", text)]
    assert len(rows) > 40, rows
    return {word: [key for key, algorithms in rows if word in algorithms] for _, word in words}


def evaluate(value, sets):
    """An expression of | and & ~ over names of sets."""
    value = re.sub(r"BIT\((\w+)\)", r"BIT_\1", value).replace("& ~", "- ")
    return eval(value, {"__builtins__": {}}, sets)


def algorithms_have_a_section():
    text = read("docs/algorithms.md")
    parts = dict(re.findall(r"(?ms)^## ([\w-]+)\n(.*?)(?=^#|\Z)", text))
    want = algorithm_keys()
    assert list(parts) == list(want) or sorted(parts) == sorted(want), f"sections {sorted(parts)}, algorithms {sorted(want)}"
    for word, keys in want.items():
        found = re.findall(r"`(\w+)=`", parts[word].split("Keys: ")[1])
        assert found == keys, f"{word}: the page has {sorted(set(found) - set(keys))} too much and lacks {sorted(set(keys) - set(found))}"
        examples = re.findall(r"`([\w-]+\.conf)`", parts[word])
        assert examples, f"{word}: no example"
        for name in examples:
            algorithm = re.search(r"(?m)^Algorithm=(.*)$", read("examples/" + name))
            assert (algorithm[1] if algorithm else "ppo") == word, f"{name} is no example of {word}"


def schedulers_have_a_row():
    rows = re.findall(r"(?m)^\| `([\w-]+)(?::\w+)?` \|", read("docs/algorithms.md").split("# Schedulers")[1])
    want = re.findall(r'X\(\w+, "([\w-]+)", [^\n]*\)', re.search(r"#define SCHEDULERS\(X\)(.*?)\n\n", read("include/schedulers.h"), re.S)[1])
    assert sorted(rows) == sorted(want), f"rows {sorted(rows)}, schedulers {sorted(want)}"


def bus_page_lists_the_interface():
    text = page("org.actord1.5")
    for interface in ElementTree.parse("units/org.actord1.xml").getroot().findall("interface"):
        block = re.search(rf"interface {re.escape(interface.get('name'))} \{{(.*?)\n  \}};", text, re.S)[1]
        block = re.sub(r"^    (methods|signals|properties):$", "", block, flags=re.M)
        found = {re.sub(r"\s+", " ", x).strip() for x in block.split(";") if x.strip()}
        want = listing(interface)
        assert found == want, f"only in the manual: {sorted(found - want)}; only in the interface: {sorted(want - found)}"


def bus_errors_are_described_and_given():
    text = page("org.actord1.5")
    daemon = "".join(read("daemon/" + name) for name in os.listdir("daemon") if name.endswith(".c"))
    for name in re.findall(r"X\((\w+), E\w+\)", read("include/bus.h")):
        assert re.search(rf"\b{name}\b", text), f"error {name} is missing"
        assert f"BUS_ERROR({name})" in daemon, f"no code gives the error {name}"


def pages_are_clean_roff():
    if not shutil.which("man"):
        return "no man here"
    for name in sorted(os.listdir("docs")):
        if re.search(r"\.[1-8]$", name):
            r = subprocess.run(["man", "--warnings=w", "-E", "UTF-8", "-l", "-Tutf8", "-Z", "docs/" + name], capture_output=True, text=True)
            assert r.returncode == 0 and not r.stderr.strip(), r.stderr


def pages_begin_with_an_example():
    """After what it is for, and before what it has in all. org.actord1(5) lists an interface."""
    for name in sorted(os.listdir("docs")):
        if re.search(r"\.[1-8]$", name) and name != "org.actord1.5":
            headings = re.findall(r"(?m)^\.S[HS] (.*)$", page(name))
            assert headings[3] in ("EXAMPLE", "EXAMPLES"), (name, headings[:4])


def examples_are_accepted():
    """The product's own parser reads each: a deliberately wrong override must be its only complaint."""
    for name in sorted(os.listdir("examples")):
        if name.endswith(".conf"):
            r = subprocess.run([CTL, "run", "examples/" + name, "--set", "Job.Seed=x"], capture_output=True, text=True)
            assert r.returncode == 2 and r.stderr == "--set Job.Seed=x: not a whole number\n", (name, r.stderr)


def examples_repeat_what_was_measured():
    """The figures after `Measured` in an example are those of the pages."""
    def measured(name):
        words = " ".join(line.lstrip("# ") for line in read(f"examples/{name}.conf").split("\n") if line.startswith("#"))
        return re.search(r"Measured.*?(?:returns|cost) of (.+?)(?:;| in the | over the )", words)

    rows = re.findall(r"(?m)^\| `([\w-]+)`(?: \(\w+\))? \| ([-\d., ]+) \| [^|]+ \|$", read("docs/environments.md"))
    rows = [(name, returns.split(", ")) for name, returns in rows if measured(name)]
    assert [name for name, _ in rows] == ["phydrl-cartpole", "iot5g", "faas", "two-ponds"], rows
    mean, = re.findall(r"(?ms)^<!-- table tidal -->.*?^\| PPO \| \d+ \| ([\d.]+)", read("docs/experiments/stormwater.md"))
    for name, want in [*rows, ("stormwater-tidal", [f"{float(mean):.0f}"])]:
        said = re.split(", | and ", measured(name).group(1))
        assert said == want, (name, said, want)


def experiments_are_accepted():
    for name in sorted(os.listdir("examples/experiments")):
        if name.endswith(".exp"):
            r = subprocess.run([CTL, "experiment", "examples/experiments/" + name, "--dry-run"], capture_output=True, text=True)
            assert r.returncode == 0 and "actor-rounds" in r.stdout, (name, r.stderr)


def metrics_are_described():
    text = page("actord-experiment.5")
    words = re.findall(r'X\(\w+, "(\w+)", "', read("actorctl/experiment/experiment.h"))
    assert len(words) > 10
    for word in words:
        assert re.search(rf"(?m)^\.BR? .*\b{word}\b", text), f"metric {word} is missing"


def environments_are_introduced():
    """The page names each family; `actorctl env show` prints the options, from the catalogue itself."""
    text = read("docs/environments.md")
    names = re.findall(r'(?m)^ +X\("([^"]+)", (?:"\w*"|[A-Z_]+), "', read("include/environments.h"))
    assert len(names) >= 40, names
    for name in names:
        assert re.search(rf"`{re.escape(re.sub('-v[0-9]+$', '', name))}[-`]", text), f"{name} is missing"
    for prefix in re.findall(r'(?m)^#define ENVIRONMENT_\w+_PREFIX +"(\w+:)"', read("include/environments.h")):
        assert f"`Environment={prefix}" in text, f"{prefix} is missing"


def learning_tables_are_current():
    for table in ("ppo", "algorithms"):
        r = subprocess.run(["tests/experiments/learning.py", table, "--check"], capture_output=True, text=True)
        assert r.returncode == 0, r.stderr
    r = subprocess.run(["tests/experiments/rebel.py", "--check"], capture_output=True, text=True)
    assert r.returncode == 0, r.stderr


def comparisons_are_current():
    for script in ("iot5g", "off_policy", "simppo", "shares", "pi_ft", "generative", "phydrl", "phydrl_steps", "scale", "stormwater",
                   "stormwater_gamma", "samples"):
        r = subprocess.run([f"tests/experiments/{script}.py", "check"], capture_output=True, text=True)
        assert r.returncode == 0, r.stderr


def bars_of_auto_are_current():
    for script in ("auto", "auto_starts"):
        r = subprocess.run([f"tests/experiments/{script}.py", "check"], capture_output=True, text=True)
        assert r.returncode == 0, r.stderr


def published_tables_are_those_of_their_cells():
    for script in ("experiments/tables", "bench/twins"):
        r = subprocess.run([f"tests/{script}.py", "--check"], capture_output=True, text=True)
        assert r.returncode == 0, r.stderr


def readme_shows_the_cells():
    r = subprocess.run(["tests/experiments/readme.py", "--check"], capture_output=True, text=True)
    assert r.returncode == 0, r.stderr


def reliability_names_tests_that_exist():
    text = read("docs/RELIABILITY.md")
    named = re.findall(r"`((?:trust|unit|integration|vm|fuzz|bench)/[\w./-]*)`", text)
    assert len(named) > 20, named
    missing = sorted({name for name in named if not os.path.exists(os.path.join("tests", name))})
    assert not missing, missing


def architecture_locates_every_room():
    """Each path of the tour exists, each folder of sources has its row in the map, and a line fits a page."""
    text = read("docs/ARCHITECTURE.md")
    tops = "include|lib|daemon|spawner|invoker|sandbox|actor|learner|actorctl|tests|docs"
    named = set(re.findall(rf"(?<![\w/])((?:{tops})/[\w./-]*)", text))
    assert len(named) > 60, named
    missing = sorted(path for path in named if not os.path.exists(path))
    assert not missing, missing
    rows = set(re.findall(r"(?m)^\| `([\w/]+)/` \|", text))
    folders = {os.path.dirname(path) for path in sources(".c", ".h")}
    # The row of an environment covers the folder of its module.
    lost = sorted(f for f in folders if f.split("/")[0] not in ("tests", "examples") and f not in rows
                  and not f.startswith(("actor/envs/", "include/actord")))
    assert not lost, lost
    wide = [line for line in text.split("\n") if len(line) > 100]
    assert not wide, wide


def installed_pages_name_pages_that_are_installed():
    """Each link of an installed page leads to an installed file, and so does each name of a page."""
    listed = subprocess.run(["make", "-s", "--no-print-directory", "list-installed", "B=" + os.path.dirname(CTL)], capture_output=True, text=True, check=True)
    folder = "/usr/share/doc/actord/"
    there = {path.removeprefix(folder) for path in listed.stdout.split() if path.startswith(folder)}
    pages = sorted(path for path in there if path.endswith(".md"))
    assert "README.md" in pages, pages
    lost = set()
    for path in pages:
        text = re.sub(r"(?ms)^```.*?^```|`[^`]*\]\([^`]*`", "", read(path))
        links = [os.path.normpath(os.path.join(os.path.dirname(path), link)) for link in re.findall(r"\]\((?!https?:)([^)#\s]+)", text)]
        named = re.findall(r"(?<![\w/.-])((?:docs/(?:experiments/)?[\w-]+|README|python/README)\.md)", text)
        lost |= {(path, name) for name in links + named if name not in there}
    assert not lost, sorted(lost)


def main():
    checks = [job_conf_names_every_key, job_conf_names_nothing_else, job_conf_names_the_algorithms_of_each_key, all_conf_shows_every_default, verbs_and_options_are_described,
              daemon_settings_are_described, price_keys_are_described, bus_page_lists_the_interface, bus_errors_are_described_and_given,
              pages_are_clean_roff, pages_begin_with_an_example, examples_are_accepted, examples_repeat_what_was_measured, experiments_are_accepted, metrics_are_described,
              environments_are_introduced, learning_tables_are_current, comparisons_are_current, bars_of_auto_are_current,
              published_tables_are_those_of_their_cells, readme_shows_the_cells, reliability_names_tests_that_exist,
              architecture_locates_every_room, algorithms_have_a_section, schedulers_have_a_row, installed_pages_name_pages_that_are_installed]
    failed = 0
    print(f"1..{len(checks)}")
    for i, check in enumerate(checks, 1):
        try:
            skip = check()
            print(f"ok {i} - {check.__name__.replace('_', ' ')}" + (f" # SKIP {skip}" if skip else ""))
        except (AssertionError, KeyError, TypeError) as e:
            failed += 1
            print(f"not ok {i} - {check.__name__.replace('_', ' ')}\n# {e!r}")
    sys.exit(1 if failed else 0)


main()
