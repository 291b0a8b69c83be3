#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The bill of materials names the libraries that the programs load, and SPDX's own tools accept it."""
import shutil

from tools import *

SBOM = os.path.join(ROOT, "packaging", "sbom.py")
VALIDATE = """
import json, sys
from spdx_tools.spdx.parser.parse_anything import parse_file
from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document
document = parse_file(sys.argv[1])
print(json.dumps({"version": document.creation_info.spdx_version, "packages": sorted(p.name for p in document.packages),
                  "mistakes": [m.validation_message for m in validate_full_spdx_document(document)]}))
"""
made = {}


def sh(*words):
    return subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True, stdin=subprocess.DEVNULL).stdout


def sbom(built=BUILD):
    """The document, as text."""
    if built not in made:
        made[built] = sh(SBOM, built, "0.1.0")
    return made[built]


def named(document):
    return {p["SPDXID"]: p for p in document["packages"]}


def related(document, name, how):
    packages = named(document)
    mine = next(key for key, p in packages.items() if p["name"] == name and key.startswith("SPDXRef-Package-") and not key.endswith("-source"))
    return [packages[r["relatedSpdxElement"]] for r in document["relationships"] if (r["spdxElementId"], r["relationshipType"]) == (mine, how)]


@story("each library that a program of a package names is there as the Debian package that has it, with the version that is installed")
def libraries():
    document = json.loads(sbom())
    for name, program in ("actord", "actord"), ("actord", "actorctl"), ("actord-environments", "env-box2d.so"):
        path = os.path.join(BUILD, program)
        if not os.path.exists(path):
            continue
        linked = {p["name"]: p for p in related(document, name, "DYNAMIC_LINK")}
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", sh("readelf", "-d", path))
        assert "libc.so.6" in needed, needed
        found = subprocess.run(["dpkg-query", "--search", *("*/" + library for library in needed)], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True).stdout.splitlines()
        for library in needed:
            owners = {line.split(":")[0] for line in found if line.endswith("/" + library)}
            if not owners:
                continue  # of another place than a package
            package = next(iter(owners & set(linked)), None)
            assert package, (program, library, owners, sorted(linked))
            equal(linked[package]["versionInfo"], sh("dpkg-query", "--show", "--showformat=${Version}", package), f"the version of {package}")
    licences = {p["name"]: p["licenseDeclared"] for p in document["packages"]}
    equal(licences["actord"], "LGPL-2.1-or-later", "our licence")
    assert any(re.fullmatch(r"[A-Z]\S*( (OR|AND) \S+)*", licences[p["name"]]) and licences[p["name"]] != "NOASSERTION"
               for p in related(document, "actord", "DYNAMIC_LINK")), licences
    assert "systemd" in [p["name"] for p in related(document, "actord", "DEPENDS_ON")], "what its control file names"
    with open(os.path.join(ROOT, "packaging/debian/control")) as f:
        ours = set(re.findall(r"^Package: (\S+)", f.read(), re.M))
    assert ours <= set(licences), (ours, licences)


@story("equal programs have an equal bill; a library of no package is named and said to be one")
def other_libraries():
    equal(sh(SBOM, BUILD, "0.1.0"), sbom(), "made twice")
    with tempfile.TemporaryDirectory() as d:
        for line in (f"echo 'int own(void) {{ return 0; }}' | cc -shared -fPIC -x c - -o {d}/libown.so",
                     f"echo 'int own(void); int main(void) {{ return own(); }}' | cc -x c - -o {d}/actord -L{d} -lown -Wl,-rpath,{d}"):
            subprocess.run(line, shell=True, check=True)
        document = json.loads(sbom(d))
        own = [p for p in related(document, "actord", "DYNAMIC_LINK") if p["name"] == "libown.so"]
        assert len(own) == 1 and "No package" in own[0]["comment"], document["packages"]
        assert document["documentNamespace"] != json.loads(sbom())["documentNamespace"], "the name of another document"
    r = subprocess.run([SBOM, os.path.join(ROOT, "docs"), "0.1.0"], capture_output=True, text=True)
    assert r.returncode == 1 and "the folder of the built programs" in r.stderr and not r.stdout, r


@story("it is valid SPDX 2.3 by SPDX's own tools, which refuse one with a relation to nothing")
def valid():
    with tempfile.TemporaryDirectory() as d:
        path, broken = d + "/actord.spdx.json", d + "/broken.spdx.json"
        with open(path, "w") as f:
            f.write(sbom())
        document = json.loads(sbom())
        said = foreign(VALIDATE, path)
        equal((said["version"], said["mistakes"]), ("SPDX-2.3", []), "what the tools say")
        equal(said["packages"], sorted(p["name"] for p in document["packages"]), "the packages that they read")
        document["relationships"][-1]["relatedSpdxElement"] = "SPDXRef-Package-nothing"
        with open(broken, "w") as f:
            json.dump(document, f)
        assert foreign(VALIDATE, broken)["mistakes"], "a relation to nothing"


missing = [name for name in ("dpkg-query", "readelf", "ldd") if not shutil.which(name)]
if missing:
    print("1..0 # SKIP " + ", ".join(missing) + " missing: this is no Debian system")
    sys.exit(0)
tell()
