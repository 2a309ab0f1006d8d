#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# links.sh - references in the Markdown files are valid: relative links with their
# headings, paths in backticks that begin with one of our folders, 'make' targets and
# verbs; README.md is short; and the output shown in pages is what the commands print
set -u
B=${B:?the build directory}
case $B in /*) bin=$B ;; *) bin=$PWD/$B ;; esac

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/docs"
cp README.md "$tmp"
cp docs/*.md "$tmp/docs"
if sh examples/readme.sh "$B" "$tmp" && diff -u README.md "$tmp/README.md" >&2 &&
	(for page in docs/*.md; do diff -u "$page" "$tmp/$page" >&2 || exit 1; done)
then
	echo "PASS links: the output that pages show"
else
	echo "FAIL links: a command prints something else; examples/readme.sh rewrites the pages"
fi

if [ "$(wc -w <README.md)" -le 700 ]; then
	echo "PASS links: README.md has at most 700 words"
else
	echo "FAIL links: README.md has $(wc -w <README.md) words, at most 700"
fi

# Each page begins with its audience.
bad=$(for page in docs/*.md docs/policies/*.md; do
	sed -n '3p' "$page" | grep -q '^For ' || echo "$page"
done)
if [ -z "$bad" ]; then
	echo "PASS links: pages say for whom they are"
else
	echo "FAIL links: pages say for whom they are"
	printf '%s does not begin with "For ..." in its third line\n' "$bad" >&2
fi

# The anchors of a page's headings, as made by forges.
anchors() {
	sed -n 's/^##* //p' "$1" | tr '[:upper:]' '[:lower:]' |
		sed 's/[^a-z0-9_ -]//g; s/ /-/g'
}

for file in ./*.md docs/*.md docs/policies/*.md */README.md */*/README.md; do
	[ -f "$file" ] || continue
	bad=$(
		grep -oE '\]\([^)#: ]+' "$file" | cut -c3- | grep -vxE 'https?' | while IFS= read -r to; do
			[ -e "$(dirname "$file")/$to" ] || echo "$to"
		done
		grep -oE '\]\([^): ]*#[^) ]+' "$file" | cut -c3- | while IFS= read -r to; do
			page=${to%%#*}
			[ -n "$page" ] && page=$(dirname "$file")/$page || page=$file
			anchors "$page" | grep -qxF "${to#*#}" || echo "$to"
		done
		# shellcheck disable=SC2016  # backticks of Markdown
		grep -oE '`(bpf|cli|collector|docs|engine|examples|lib|pacer|packages|policies|scheduler|sim|tests|topology)/[a-z0-9_./-]*`' \
			"$file" | tr -d '`' | while IFS= read -r to; do
			[ -e "$to" ] || [ -e "$(dirname "$file")/$to" ] || echo "$to"
		done
	)
	if [ -z "$bad" ]; then
		echo "PASS links: $file"
	else
		echo "FAIL links: $file"
		printf '%s names what is not there: %s\n' "$file" "$bad" >&2
	fi
done

# shellcheck disable=SC2016  # backticks of Markdown
grep -ohE '(`|^ +)make [a-z-]+' ./*.md docs/*.md | grep -oE '[a-z-]+$' | sort -u |
	while IFS= read -r target; do
		if grep -q "^$target:" Makefile tests/*/*.mk; then
			echo "PASS links: make $target"
		else
			echo "FAIL links: there is no 'make $target'"
		fi
	done

# shellcheck disable=SC2016
grep -ohE '(`|\$ |^ +)antiphase [a-z]+' ./*.md docs/*.md ./*/README.md ./*/*/README.md |
	grep -oE '[a-z]+$' | sort -u | while IFS= read -r verb; do
		if "$bin/antiphase" "$verb" --help >/dev/null 2>&1; then
			echo "PASS links: antiphase $verb"
		else
			echo "FAIL links: there is no 'antiphase $verb'"
		fi
	done

# examples/README.md tells the origin of the examples.
if "$bin/antiphase" profile --json examples/mpi-4rank-16MB.csv.xz |
	diff -u examples/captured.json - >&2
then
	echo "PASS links: examples/captured.json is what 'antiphase profile' finds"
else
	echo "FAIL links: examples/captured.json is not what 'antiphase profile' finds"
fi
