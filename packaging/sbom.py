#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Prints a bill of materials in SPDX 2.3 (JSON): the packages of packaging/debian, and the Debian packages whose shared libraries
their programs load, with versions and licences as this system has them.
usage: packaging/sbom.py BUILT VERSION
BUILT is the folder of the built programs. Equal programs on an equal system give equal bytes."""
import datetime, email.utils, fnmatch, functools, glob, hashlib, json, os, re, shutil, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = "SPDXRef-Package-actord-source"
OURS = "LGPL-2.1-or-later"
# Names of licences in debian/copyright (format 1.0), and how SPDX spells them. A name that SPDX lacks becomes LicenseRef-debian-NAME.
GNU = {f"{name}-{number}{plus}": f"{name}-{number if '.' in number else number + '.0'}-{'or-later' if plus else 'only'}"
       for name, numbers in (("GPL", "1 2 3"), ("LGPL", "2 2.0 2.1 3"), ("AGPL", "3")) for number in numbers.split() for plus in ("", "+")}
SPDX_NAMES = {**GNU, "Expat": "MIT", "MIT": "MIT", "X11": "X11", "ISC": "ISC", "Zlib": "Zlib", "zlib": "Zlib", "BSD-2-clause": "BSD-2-Clause",
              "BSD-3-clause": "BSD-3-Clause", "BSD-4-clause": "BSD-4-Clause", "Apache-2.0": "Apache-2.0", "CC0-1.0": "CC0-1.0", "0BSD": "0BSD",
              "Apache-2": "Apache-2.0", "PSF-2": "PSF-2.0", "Python-2.0": "Python-2.0"}


def output(*words):
    """Returns what a program prints; nothing if it fails."""
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env={**os.environ, "LC_ALL": "C.UTF-8"}).stdout


def paragraphs(text):
    """Yields each paragraph of a Debian control file as {field: value}."""
    for block in re.split(r"\n[ \t]*\n", text):
        fields, last = {}, None
        for line in block.splitlines():
            if line[:1] in " \t" and last:
                fields[last] += "\n" + line.strip()
            elif ":" in line and not line.startswith("#"):
                last, value = line.split(":", 1)
                fields[last] = value.strip()
        if fields:
            yield fields


def identifier(kind, name):
    """An identifier of SPDX, which may have only letters, digits, dots and hyphens. A plus becomes -plus, so that names stay different."""
    return f"SPDXRef-{kind}-" + re.sub(r"[^A-Za-z0-9.-]", "-", name.replace("+", "-plus"))


class Licences:
    def __init__(self):
        self.references = {}

    def expression(self, words, place):
        """'GPL-2+ or Expat' of debian/copyright as an expression of SPDX; None: it has another shape, as with a comma,
        which groups there what SPDX groups by parentheses."""
        parts = []
        for word in words.split() if "," not in words else ():
            if word.lower() in ("or", "and"):
                parts.append(word.upper())
            elif word in SPDX_NAMES:
                parts.append(SPDX_NAMES[word])
            else:
                name = "LicenseRef-debian-" + re.sub(r"[^A-Za-z0-9.-]", "-", word.replace("+", "-plus"))
                self.references.setdefault(name, f"Called {word} in {place}, which has its text.")
                parts.append(name)
        alternate = all((part in ("OR", "AND")) == bool(i % 2) for i, part in enumerate(parts))
        return " ".join(parts) if alternate and len(parts) % 2 else None

    def of(self, package):
        """Returns the licence of most files, and a sentence about the others."""
        place = f"/usr/share/doc/{package}/copyright"
        try:
            with open(place, errors="replace") as f:
                found = list(paragraphs(f.read()))
        except OSError:
            return "NOASSERTION", f"{place} is not installed."
        if not found or "copyright-format" not in found[0].get("Format", ""):
            return "NOASSERTION", f"{place} is not in a format that programs read."
        short = lambda fields: fields["License"].split("\n")[0].strip()
        files = [fields for fields in found if "Files" in fields and "License" in fields]
        main = [short(fields) for fields in files if fields["Files"].strip() == "*"]
        others = sorted({short(fields) for fields in files} - set(main[:1]) - {""})
        said = f"By {place}" + (f", for most files: {main[0]}." if main else ".") + (f" Some files of the source package have other licences: {'; '.join(others)}." if others else "")
        return (self.expression(main[0], place) if main else None) or "NOASSERTION", said


@functools.lru_cache(None)
def distribution():
    with open("/etc/os-release") as f:
        fields = dict(line.strip().split("=", 1) for line in f if "=" in line)
    return fields["ID"].strip('"'), fields["NAME"].strip('"').split()[0]


@functools.lru_cache(None)
def owners():
    """{library: Debian package}. Where /lib is a link to /usr/lib, dpkg may know a file by the other name."""
    found = {}
    for line in output("dpkg-query", "--search", "*.so*").splitlines():
        if not line.startswith("diversion by"):
            packages, path = line.split(": ", 1)
            found[path] = packages.split(",")[0].split(":")[0]
    return found


def owner(path):
    real = os.path.realpath(path)
    names = (path, real, "/usr" + path, real.removeprefix("/usr"))
    return next((owners()[name] for name in names if name in owners()), None)


@functools.lru_cache(None)
def installed():
    """{package: (version, its source package, architecture)}"""
    lines = output("dpkg-query", "--show", "--showformat", "${Package}|${Version}|${source:Package} ${source:Version}|${Architecture}\\n").splitlines()
    return {line.split("|")[0]: line.split("|")[1:] for line in lines}


def loaded(path):
    """Returns the libraries that a program loads, including those of its libraries: {path: whether the program itself names it}."""
    own = re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "--dynamic", path))
    lines = re.findall(r"^\s*(\S+) => (/\S+) \(|^\s*(/\S+) \(", output("ldd", path), re.M)
    return {a or b: name in own or os.path.basename(b) in own for name, a, b in lines}


def packed(built, package):
    """Returns the programs and modules in one of our packages."""
    with open(os.path.join(HERE, "debian", package + ".install")) as f:
        patterns = [os.path.basename(line.split()[0]) for line in f if re.match(r"usr/(bin|lib/actord)/", line)]
    names = sorted(name for name in os.listdir(built) if any(fnmatch.fnmatch(name, pattern) for pattern in patterns))
    files = [os.path.join(built, name) for name in names]
    return [path for path in files if os.path.isfile(path) and open(path, "rb").read(4) == b"\x7fELF"]


class Bill:
    def __init__(self, version):
        self.version, self.licences = version, Licences()
        self.packages, self.relations = {}, []

    def relate(self, a, how, b, comment=None):
        relation = {"spdxElementId": a, "relationshipType": how, "relatedSpdxElement": b, **({"comment": comment} if comment else {})}
        if relation not in self.relations:
            self.relations.append(relation)

    def ours(self, key, name, purpose, summary):
        self.packages[key] = {"SPDXID": key, "name": name, "versionInfo": self.version, "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
                              "supplier": "Organization: the actord maintainers", "licenseConcluded": OURS, "licenseDeclared": OURS,
                              "copyrightText": "2026 the actord maintainers", "primaryPackagePurpose": purpose, "summary": summary}
        return key

    def debian(self, name):
        """Adds a package of the distribution, and returns its identifier."""
        key = identifier("Package", name)
        if key in self.packages:
            return key
        version, source, arch = installed().get(name, ("", "", ""))
        declared, said = self.licences.of(name)
        place, people = distribution()
        self.packages[key] = {"SPDXID": key, "name": name, "versionInfo": version or "NOASSERTION", "downloadLocation": "NOASSERTION",
                              "filesAnalyzed": False, "supplier": f"Organization: {people}", "licenseConcluded": "NOASSERTION",
                              "licenseDeclared": declared, "licenseComments": said, "copyrightText": "NOASSERTION"}
        if version:
            purl = f"pkg:deb/{place}/{name.replace('+', '%2B')}@{version.replace(':', '%3A').replace('+', '%2B')}?arch={arch}"
            self.packages[key].update(sourceInfo=f"built from the source package {source}", externalRefs=[
                {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}])
        return key

    def library(self, path):
        """Adds the package of a library, and returns its identifier. A library of no package becomes an entry of its own."""
        name = owner(path)
        if name:
            return self.debian(name)
        name = os.path.basename(path)
        key = identifier("Library", name)
        self.packages[key] = {"SPDXID": key, "name": name, "versionInfo": "NOASSERTION", "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
                              "supplier": "NOASSERTION", "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION",
                              "copyrightText": "NOASSERTION", "primaryPackagePurpose": "LIBRARY", "comment": "No package of this system has this file."}
        return key

    def links(self, key, paths):
        libraries = {}
        for path in paths:
            for library, direct in loaded(path).items():
                name = self.library(library)
                libraries[name] = libraries.get(name, False) or direct
        for name, direct in sorted(libraries.items()):
            self.relate(key, "DYNAMIC_LINK" if direct else "DEPENDS_ON", name)

    def fill(self, built):
        self.ours(ROOT, "actord", "SOURCE", "daemon that trains reinforcement-learning policies in metered actors")
        with open(os.path.join(HERE, "debian", "control")) as f:
            binaries = [fields for fields in paragraphs(f.read()) if "Package" in fields]
        keys = {fields["Package"]: self.ours(identifier("Package", fields["Package"]), fields["Package"], "APPLICATION",
                                             fields["Description"].split("\n")[0]) for fields in binaries}
        for fields in binaries:
            key = keys[fields["Package"]]
            self.relate(ROOT, "GENERATES", key)
            self.links(key, packed(built, fields["Package"]))
            for word in re.sub(r"\$\{[^}]*\}|\([^)]*\)|\n", "", fields.get("Depends", "")).split(","):
                if word.strip():
                    self.relate(key, "DEPENDS_ON", keys.get(word.strip()) or self.debian(word.strip()), "Depends: of the Debian package")

    def document(self):
        with open(os.path.join(HERE, "debian", "changelog")) as f:
            date = email.utils.parsedate_to_datetime(re.search(r"^ -- .*>  (.*)$", f.read(), re.M).group(1))
        content = {
            "packages": list(self.packages.values()),
            "relationships": [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": ROOT}, *self.relations],
            "hasExtractedLicensingInfos": [{"licenseId": name, "extractedText": text} for name, text in sorted(self.licences.references.items())],
        }
        digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()
        return {
            "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"actord-{self.version}",
            "documentNamespace": f"https://actord.example/spdx/actord-{self.version}-{digest}",
            "creationInfo": {"created": date.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                             "creators": ["Organization: the actord maintainers", f"Tool: packaging/sbom.py-{self.version}"],
                             "comment": "The date is that of packaging/debian/changelog. Libraries are those of the system on which this was made."},
            **content,
        }


def main():
    if len(sys.argv) != 3 or not glob.glob(os.path.join(sys.argv[1], "actord")):
        sys.exit("usage: packaging/sbom.py BUILT VERSION, where BUILT is the folder of the built programs (make)")
    for tool in "dpkg-query", "readelf", "ldd":
        if not shutil.which(tool):
            sys.exit(f"packaging/sbom.py: {tool} is missing: apt install dpkg binutils libc-bin")
    bill = Bill(sys.argv[2])
    bill.fill(sys.argv[1])
    print(json.dumps(bill.document(), indent=1, ensure_ascii=False))


main()
