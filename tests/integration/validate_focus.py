# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the rules of FOCUS 1.2 over a CSV file with the package focus_validator, without its command line, which needs more packages. Prints one JSON
object. usage: validate_focus.py FILE CRITERION..."""
import importlib.util, json, os, sys

import duckdb, pandas

PLACE = importlib.util.find_spec("focus_validator").submodule_search_locations[0]
CONVERTER = "focus_validator.config_objects.focus_to_duckdb_converter"
NEEDS_3_12, SAME = r"""f"'{k.replace('\"', '\"\"')}'" """, r""""'" + k.replace('"', '""') + "'" """


class Older:
    """Reads the one module that has a line which only Python 3.12 parses."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        return importlib.util.spec_from_loader(name, Older) if name == CONVERTER else None

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        path = os.path.join(PLACE, "config_objects", "focus_to_duckdb_converter.py")
        module.__package__ = CONVERTER.rpartition(".")[0]
        exec(compile(open(path).read().replace(NEEDS_3_12, SAME), path, "exec"), vars(module))


def typed(path, types):
    """Types are those that pandas finds in the text, so that an identifier of digits alone is a mistake; a column without a value has none."""
    table = pandas.read_csv(path, keep_default_na=False, na_values=[""])
    for column in table:
        if types.get(column) == "string" and (table[column].isna().all() or table[column].dtype == object):
            table[column] = table[column].astype("string")
    # A column of providers with commitments alone; rules of other columns read it.
    table["CommitmentDiscountStatus"] = pandas.Series([None] * len(table), dtype="string")
    return table


sys.meta_path.insert(0, Older)
from focus_validator.rules.spec_rules import SpecRules

os.chdir(os.path.dirname(PLACE)) # its list of currencies is found from there
rules = SpecRules(rule_set_path=os.path.join(PLACE, "rules"), rules_file_prefix="model-", rules_version="1.2", rules_file_suffix=".json",
                  focus_dataset="CostAndUsage", filter_rules=None, rules_force_remote_download=False, rules_block_remote_download=True,
                  allow_draft_releases=False, allow_prerelease_releases=False, column_namespace=None, applicability_criteria_list=sys.argv[2:])
rules.load()
results = rules.validate(typed(sys.argv[1], rules.get_column_types()), connection=duckdb.connect()).by_rule_id
print(json.dumps({"version": rules.rules_version, "kept": [name for name, r in results.items() if r["ok"]],
                  "broken": {name: r["details"].get("message") or "" for name, r in results.items() if not r["ok"]}}))
