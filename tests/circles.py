#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""circles.py BUILD - circular dependencies between files, from their objects' symbols.

File A needs file B if A's object has an undefined symbol that B's object defines.  A
circle is a strongly connected component of more than one file.  A circle within a
folder may have at most LARGEST files, and the tree may have at most MOST circles.
Circles between top-level folders are not allowed.  Prints each circle; the exit status
is 1 if a rule is broken.  Time: O(symbols)."""
import os
import subprocess
import sys

LARGEST, MOST = 3, 8
FOLDERS = ("lib", "topology", "collector", "engine", "scheduler", "policies", "sim", "cli",
           "pacer")


def symbols(build):
    """Returns {file: (defined, needed)} for every object of the products."""
    paths = []
    for folder in FOLDERS:
        for where, _, names in os.walk(os.path.join(build, folder)):
            paths += [os.path.join(where, n) for n in names if n.endswith(".o")]
    # Ignores objects whose source was removed.
    paths = [p for p in sorted(paths)
             if os.path.exists(os.path.relpath(p, build)[:-2] + ".c")]
    text = subprocess.run(["nm", "-A", "-P", *paths], capture_output=True, text=True,
                          check=True).stdout
    files = {os.path.relpath(p, build)[:-2]: (set(), set()) for p in paths}
    for line in text.splitlines():
        path, rest = line.split(": ", 1)
        name, kind = rest.split()[:2]
        defined, needed = files[os.path.relpath(path, build)[:-2]]
        if kind in "Uw":
            needed.add(name)
        elif kind.isupper():
            defined.add(name)
    return files


def components(edges):
    """Returns the strongly connected components of more than one node (Tarjan)."""
    index, low, stack, found, on = {}, {}, [], [], set()
    for root in sorted(edges):
        if root in index:
            continue
        work = [(root, iter(sorted(edges[root])))]
        index[root] = low[root] = len(index)
        stack.append(root), on.add(root)
        while work:
            node, rest = work[-1]
            for other in rest:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other), on.add(other)
                    work.append((other, iter(sorted(edges[other]))))
                    break
                if other in on:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    part = []
                    while not part or part[-1] != node:
                        part.append(stack.pop()), on.discard(part[-1])
                    if len(part) > 1:
                        found.append(sorted(part))
    return sorted(found)


def needs(files, group):
    """Returns edges between groups of files.  group(path) is None for files to skip."""
    home = {}
    for path, (defined, _) in files.items():
        for name in defined:
            home.setdefault(name, []).append(path)
    edges = {}
    for path, (_, needed) in files.items():
        here = group(path)
        if here is None:
            continue
        edges.setdefault(here, set())
        for name in needed:
            # Ignores symbols that several files define: the target is ambiguous.
            if len(home.get(name, [])) == 1:
                there = group(home[name][0])
                if there not in (None, here):
                    edges[here].add(there)
    return edges


def main():
    files = symbols(sys.argv[1])
    if not files:
        sys.exit("circles.py: no objects in %s; run 'make all' first" % sys.argv[1])
    faults = []
    for part in components(needs(files, lambda path: path.split("/")[0])):
        faults.append("top-level folders need each other: " + " ".join(part))
    folders, circles = sorted({os.path.dirname(path) for path in files}), []
    for folder in folders:
        inside = needs(files, lambda p, f=folder: p if os.path.dirname(p) == f else None)
        circles += components(inside)
    for part in circles:
        print("circle of %2d: %s" % (len(part), " ".join(part)))
        if len(part) > LARGEST:
            faults.append("a circle of %d files in %s, at most %d are allowed" %
                          (len(part), os.path.dirname(part[0]), LARGEST))
    print("%d files in %d folders, %d circles, the largest of %d files" %
          (len(files), len(folders), len(circles), max(map(len, circles), default=0)))
    if len(circles) > MOST:
        faults.append("%d circles, at most %d are allowed" % (len(circles), MOST))
    for fault in faults:
        print("circles.py: " + fault, file=sys.stderr)
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
