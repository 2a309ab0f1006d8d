#!/bin/sh
# links.sh - what the Markdown files name is there: relative links, and paths in
# backticks that begin with one of our folders; 'make' targets and verbs that the
# README names exist; and what it shows of the demo is what the demo prints.
set -u
B=${B:?the build directory}
case $B in /*) bin=$B ;; *) bin=$PWD/$B ;; esac

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cp README.md "$tmp/README.md"
if sh examples/readme.sh "$B" "$tmp/README.md" && diff -u README.md "$tmp/README.md" >&2
then
	echo "PASS links: the demo in README.md"
else
	echo "FAIL links: the demo prints something else; examples/readme.sh rewrites it"
fi

for file in README.md docs/*.md docs/policies/*.md */README.md */*/README.md; do
	[ -f "$file" ] || continue
	bad=$(
		grep -oE '\]\([^)#: ]+' "$file" | cut -c3- | while IFS= read -r to; do
			[ -e "$(dirname "$file")/$to" ] || echo "$to"
		done
		# shellcheck disable=SC2016  # backticks of Markdown
		grep -oE '`(lib|topology|sim|scheduler|tests|docs|examples)/[a-z0-9_./-]*`' \
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
grep -ohE '(`|^ +)make [a-z-]+' README.md docs/*.md | grep -oE '[a-z-]+$' | sort -u |
	while IFS= read -r target; do
		if grep -q "^$target:" Makefile; then
			echo "PASS links: make $target"
		else
			echo "FAIL links: there is no 'make $target'"
		fi
	done

# shellcheck disable=SC2016
grep -ohE '(`|\$ |^ +)antiphase [a-z]+' README.md docs/*.md ./*/README.md ./*/*/README.md |
	grep -oE '[a-z]+$' | sort -u | while IFS= read -r verb; do
		if "$bin/antiphase" "$verb" --help >/dev/null 2>&1; then
			echo "PASS links: antiphase $verb"
		else
			echo "FAIL links: there is no 'antiphase $verb'"
		fi
	done

# examples/README.md says where it comes from.
if "$bin/antiphase" profile --json examples/mpi-4rank-16MB.csv.xz |
	diff -u examples/captured.json - >&2
then
	echo "PASS links: examples/captured.json is what 'antiphase profile' finds"
else
	echo "FAIL links: examples/captured.json is not what 'antiphase profile' finds"
fi
