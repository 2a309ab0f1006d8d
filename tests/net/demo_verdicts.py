# SPDX-License-Identifier: Apache-2.0
"""demo_verdicts.py - compares the measurements of demo_live.sh with their bars."""
import statistics

WITHOUT_AT_LEAST = 1.15
EQUAL_AT_MOST = 1.03
RATIO_AT_MOST = 1.05
SETTLED_WITHIN_S = 30
CONTROL_AT_MOST = 1.02
PATHS_WITHIN_S = 10


def verdict(bar, measured, is_met, is_tested=True, form="%.3f", ci95=None):
    """Returns a verdict.  Without a measurement it is "missed", unless not tested."""
    text = "-" if measured is None else form % measured
    return {"bar": bar, "measured": measured,
            "text": text if ci95 is None else text + " +- %.3f" % ci95,
            "verdict": "not tested" if not is_tested else
            "met" if measured is not None and is_met(measured) else "missed"}


def at_most(bound):
    return lambda value: value <= bound


def not_worse(name, difference, ci95):
    """Compares pairs: worse only if the whole interval is above 0.  Without an interval
    ('ci95' is None), the bar is not tested."""
    return verdict(name, difference, lambda value: value - ci95 <= 0,
                   is_tested=ci95 is not None, form="%+.3f", ci95=ci95)


def of_mode(bar, mode, key, is_met, is_tested=True):
    return verdict(bar, mode[key], is_met, is_tested, ci95=mode[key + "_ci95"])


def with_at_most(bound, enforce, is_tested):
    return [of_mode("slowdown with at most %.2f, %s" % (bound, name), enforce, key,
                    at_most(bound), is_tested)
            for key, name in (("slowdown", "whole runs"),
                              ("slowdown_second_half", "second halves"))]


def where_they_contend(result):
    """Equal periods: the bar applies to the pairs whose starts cause a slowdown of at
    least WITHOUT_AT_LEAST without antiphase."""
    both = [[run["slowdown"] for run in pair["runs"]] for pair in result["pairs"]]
    enforced = [two[1] for two in both if two[0] >= WITHOUT_AT_LEAST]
    return verdict("slowdown with at most %.2f, mean of the %d of %d pairs with at least "
                   "%.2f without" % (EQUAL_AT_MOST, len(enforced), len(both),
                                     WITHOUT_AT_LEAST),
                   statistics.mean(enforced) if enforced else None,
                   at_most(EQUAL_AT_MOST), is_tested=bool(enforced))


def paths_verdicts(result):
    observe, enforce = result["modes"]
    killed = result["killed"]
    return [
        of_mode("slowdown without at least %.2f" % WITHOUT_AT_LEAST, observe, "slowdown",
                lambda value: value >= WITHOUT_AT_LEAST),
        of_mode("slowdown with at most %.2f, second halves" % EQUAL_AT_MOST, enforce,
                "slowdown_second_half", at_most(EQUAL_AT_MOST)),
        verdict("first path within %d s" % PATHS_WITHIN_S, enforce["first_path_s"],
                at_most(PATHS_WITHIN_S), form="%.1f s"),
        verdict("no connection is opened again", enforce["new_connections"], at_most(0),
                form="%d"),
        verdict("no shift: orders per job and minute", enforce["orders_per_job_minute"],
                at_most(0), form="%.1f"),
        verdict("slowdown at most %.2f after antiphase was killed" % EQUAL_AT_MOST,
                killed and killed["slowdown_second_half"], at_most(EQUAL_AT_MOST),
                is_tested=bool(killed))]


def verdicts_of(result):
    enforce = result["modes"][1]
    differ, case = result["difference"], result["case"]
    found = []
    if case == "equal":
        found.append(where_they_contend(result))
        found += with_at_most(EQUAL_AT_MOST, enforce, True)
    if case == "ratio":
        found += with_at_most(RATIO_AT_MOST, enforce, True)
    if case == "incommensurate":
        found.append(not_worse("with is not slower than without, in pairs",
                               differ["slowdown"], differ["slowdown_ci95"]))
    if case == "change":
        found.append(verdict("settled again within %d s of the first longer iteration" %
                             SETTLED_WITHIN_S, enforce["settled_again_s"],
                             at_most(SETTLED_WITHIN_S), form="%.1f s"))
    if case in ("change", "part"):
        found.append(not_worse("from then on with is not slower than without, in pairs",
                               differ["slowdown_after_change"],
                               differ["slowdown_after_change_ci95"]))
    if case == "paths":
        found += paths_verdicts(result)
    if result["control"]:
        found.append(verdict("all at once on links of their own at most %.2f" %
                             CONTROL_AT_MOST, result["control"]["slowdown"],
                             at_most(CONTROL_AT_MOST)))
    return found
