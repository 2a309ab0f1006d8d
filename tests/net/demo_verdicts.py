"""demo_verdicts.py - the bars of demo_live.sh, against what was measured."""

WITHOUT_AT_LEAST = 1.15
EQUAL_AT_MOST = 1.03
RATIO_AT_MOST = 1.05
SETTLED_WITHIN_S = 30
CONTROL_AT_MOST = 1.02


def verdict(bar, measured, is_met, is_tested=True, form="%.3f"):
    """A line.  What was not measured is missed, unless it was not tested."""
    return {"bar": bar, "measured": measured,
            "text": "-" if measured is None else form % measured,
            "verdict": "not tested" if not is_tested else
            "met" if measured is not None and is_met(measured) else "missed"}


def at_most(bound):
    return lambda value: value <= bound


def not_worse(name, difference, ci95):
    """Of pairs: worse only if the whole interval says so.  Without one, nothing is."""
    result = verdict(name, difference, lambda value: value - ci95 <= 0,
                     is_tested=ci95 is not None, form="%+.3f")
    if ci95 is not None:
        result["text"] += " +- %.3f" % ci95
    return result


def verdicts_of(result):
    observe, enforce = result["modes"]
    differ, case = result["difference"], result["case"]
    found = []
    if case == "equal":
        contends = observe["slowdown"] >= WITHOUT_AT_LEAST
        found += [verdict("slowdown without at least %.2f" % WITHOUT_AT_LEAST,
                          observe["slowdown"], lambda value: value >= WITHOUT_AT_LEAST),
                  verdict("slowdown with at most %.2f, whole runs" % EQUAL_AT_MOST,
                          enforce["slowdown"], at_most(EQUAL_AT_MOST), contends),
                  verdict("slowdown with at most %.2f, second halves" % EQUAL_AT_MOST,
                          enforce["slowdown_second_half"], at_most(EQUAL_AT_MOST),
                          contends)]
    if case == "ratio":
        found += [verdict("slowdown with at most %.2f, whole runs" % RATIO_AT_MOST,
                          enforce["slowdown"], at_most(RATIO_AT_MOST)),
                  verdict("slowdown with at most %.2f, second halves" % RATIO_AT_MOST,
                          enforce["slowdown_second_half"], at_most(RATIO_AT_MOST))]
    if case == "incommensurate":
        found.append(not_worse("with is not slower than without, in pairs",
                               differ["slowdown"], differ["slowdown_ci95"]))
    if case == "change":
        found += [verdict("settled again within %d s of the first longer iteration" %
                          SETTLED_WITHIN_S, enforce["settled_again_s"],
                          at_most(SETTLED_WITHIN_S), form="%.1f s"),
                  not_worse("then with is not slower than without, in pairs",
                            differ["slowdown_after_change"],
                            differ["slowdown_after_change_ci95"])]
    if result["control"]:
        found.append(verdict("all at once on links of their own at most %.2f" %
                             CONTROL_AT_MOST, result["control"]["slowdown"],
                             at_most(CONTROL_AT_MOST)))
    return found
