# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compares what verbs print with packaging/schemas/actorctl.json."""
from story import *

try:
    import jsonschema
except ImportError:
    jsonschema = None

SCHEMA = json.load(open(os.path.join(ROOT, "packaging/schemas/actorctl.json")))


def follows(name, value):
    """Asserts that a value follows a definition. Where python3-jsonschema is not installed, nothing is asserted."""
    if jsonschema:
        jsonschema.Draft202012Validator({**SCHEMA, "$ref": f"#/$defs/{name}"}).validate(value)
    return value
