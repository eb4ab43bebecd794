"""Counts what Autobahn's reports say; exit code 1 when a case is not as it should be."""
from __future__ import print_function

import collections
import json
import sys

GOOD = ("OK", "NON-STRICT", "INFORMATIONAL")

bad = 0
for path in sys.argv[1:]:
    role = path.split("/")[-2]
    for agent, cases in json.load(open(path)).items():
        counts = {"behavior": collections.Counter(), "behaviorClose": collections.Counter()}
        for case, result in sorted(cases.items()):
            for key, counter in counts.items():
                said = result[key]
                counter[said] += 1
                if said not in GOOD:
                    print("%s: case %s: %s is %s" % (role, case, key, said))
                    bad += 1
        print("taut as %s: %d cases" % (role, len(cases)))
        for key, counter in sorted(counts.items()):
            words = ", ".join("%d %s" % (n, said) for said, n in counter.most_common())
            print("  %-14s %s" % (key, words))
        if not cases:
            bad += 1
sys.exit(1 if bad else 0)
