#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# web_dist.sh - web/dist was made from the present sources of the page: their checksums
# are those that the build noted.  Needs no node; 'make test-web' builds it again and
# compares bytes.
set -u
cd web || exit 1
if sha256sum --quiet --strict -c dist/SOURCES.sha256 >&2; then
	echo "PASS web-dist: web/dist is made from these sources"
else
	echo "FAIL web-dist: web/dist is not made from these sources: run 'make web'"
fi
listed=$(awk '{ print $2 }' dist/SOURCES.sha256 | sort)
there=$(find src -type f | sort && printf '%s\n' build.mjs package-lock.json package.json)
if [ "$listed" = "$(printf '%s\n' "$there" | sort)" ]; then
	echo "PASS web-dist: and from all of them"
else
	echo "FAIL web-dist: it was made from other files: run 'make web'"
fi
