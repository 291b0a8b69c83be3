#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Bills as FOCUS 1.2, read by the validator of the FinOps Foundation, which has each rule of the specification."""
from bus import *
from tools import *

HERE = os.path.dirname(os.path.abspath(__file__))

# What a provider supports decides which columns it must have. There are no commitments, regions, sub-accounts or virtual currencies here.
SUPPORTED = ["ACCOUNT_NAMING", "NEGOTIATED_PRICING", "PUBLIC_PRICE_LIST", "USAGE_MEASUREMENT", "UNIT_PRICING", "BILLING_BASED_ON_PROVISIONED_RESOURCES",
             "RESOURCE_TYPE_ASSIGNMENT", "TAGGING"]

# Rules that the validator reads in another way than the specification does.
MISREAD = {
    "PricingCurrency": "is for virtual currencies, even where unit prices are supported",
    "InvoiceId-C-005-C": "is for charges that have an invoice; the rule above it is kept",
}


def validated(path):
    return foreign(open(os.path.join(HERE, "validate_focus.py")).read(), path, *(name + "_SUPPORTED" for name in SUPPORTED), timeout=120)


def leaves(broken):
    """Without rules that only repeat others, and those that are misread."""
    return {rule: said for rule, said in broken.items()
            if "failed child rules" not in said and not any(word in rule + said for word in MISREAD)}


@story("the validator of FOCUS 1.2 finds no mistake in the bills of a job under every sheet of a currency")
def rules():
    with Bus() as bus:
        job = bus.submit(overrides=[("Job.StopReturn", ""), ("Job.StopSteps", "4000"), ("Job.Tag", "thesis/ch-4"), ("Scaling.Actors", "2"),
                                    ("Scaling.KeepAliveSec", "60"), ("Evaluation.EveryRounds", "2"), ("Evaluation.Episodes", "1")])
        equal(bus.ended(job), "finished", "result")
        sheets = [s["name"] for s in json.loads(bus.ctl("price", "list", "--json").out) if len(s["currency"]) == 3]
        bills = [bus.ctl("bill", job, "--format=focus", f"--prices={sheet}").out.splitlines(keepends=True) for sheet in sheets]
    assert len(sheets) > 5, sheets
    path = os.path.join(STATE, "focus.csv")
    with open(path, "w") as file:
        file.writelines(bills[0][:1] + [line for bill in bills for line in bill[1:]])
    read = validated(path)
    equal(read["version"], "1.2", "version")
    equal(leaves(read["broken"]), {}, "rules that are broken")
    assert len(read["kept"]) > 150, read["kept"]
    for rule in "BillingAccountId-C-002-M", "ConsumedUnit-C-003-O", "PricingUnit-C-003-O", "ServiceSubcategory-C-004-M", "SkuPriceId-C-008-M", "PricingQuantity-C-009-C":
        assert rule in read["kept"], rule


tell()
