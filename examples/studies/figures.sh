#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# figures.sh OUT MAIN - figures (SVG, gnuplot) of the tables that cassini.sh made.
# shellcheck disable=SC2016  # the quoted text is awk's
set -eu
out=$1
main=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# FILE "CONDITION": ratio and interval of matching rows, by the names of the columns.
rows() {
	awk -F, -v OFS='\t' '
		/^#/ { next }
		!n { n = NF; for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["ratio"] != "" { '"$2"' }' "$out/$1.csv"
}

# The augmenting policy, its name in the figure, and its color.
everyone='cassini cassini-once antiphase dedicated'
label() {
	case $1 in
	cassini) echo "title 'CASSINI' lc '#d08020'" ;;
	cassini-once) echo "title 'CASSINI, delays once' lc '#e8c898'" ;;
	crux) echo "title 'Crux' lc '#a040a0'" ;;
	monkeytree) echo "title 'MonkeyTree' lc '#309060'" ;;
	antiphase) echo "title 'antiphase' lc '#2060c0'" ;;
	spray) echo "title 'perfect balance' lc '#505050'" ;;
	*) echo "title 'dedicated links' lc '#909090'" ;;
	esac
}

# PREFIX "STYLE": the plots of all augmenting policies, one file each.
plot() {
	first=plot
	for who in $everyone; do
		printf "%s '%s%s' %s %s" "$first" "$1" "$who" "$2" "$(label "$who")"
		first=,
	done
	echo
}

# The line below each figure with its source: sweeps and their seeds.
whence() {
	for file; do
		cat "$out/$file.csv"
	done | awk '
		/^# antiphase-sim/ { v = substr($0, 3) }
		/^# scenario/ { f = $3; sub(/.*\//, "", f) }
		/^# seed/ { all = all ", " f " seeds " $3 }
		END { printf "%s, antiphase sim sweep%s; make repro-cassini", v, substr(all, 2) }'
}

# NAME "FILE..." "TITLE": begins a figure.
figure() {
	# shellcheck disable=SC2086  # a list of files
	cat <<END
set terminal svg size 900,420 dynamic enhanced background '#ffffff' font 'sans-serif,12'
set output '$out/$1.svg'
set title "$3" noenhanced
set label 1 "$(whence $2)" at graph 0, screen 0.025 font ',9' noenhanced
set bmargin 4
set datafile separator tab
set grid y
set key outside top center horizontal
set style fill solid 0.6 border -1
END
}

arrange() {
	rows "$1" 'if ($at["metric"] == "policies.'"$2"'" && $at["augment"] == "'"$3"'") {
		op = $at["operand"]; sub(/(-[0-9]+)?\.ini/, "", op)
		print "\"" op "\\n" $at["policy"] "\"", $at["ratio"], $at["ci95"] + 0 }' >>"$tmp/$2.$3"
}

# Bars: arrivals and schedulers, by augmenting policy.
all=$main
if [ "$main" != cassini-smoke ] && [ -e "$out/cassini-pollux.csv" ]; then
	all="$main cassini-pollux"
fi
for metric in iterations.mean_s iterations.p99_s mean_s p99_s; do
	for who in $everyone; do
		for file in $all; do
			arrange "$file" $metric "$who"
		done
	done
	case $metric in
	iterations.mean_s) what="mean time of an iteration" ;;
	iterations.p99_s) what="p99 of the time of an iteration" ;;
	mean_s) what="mean completion time" ;;
	*) what="p99 of completion times" ;;
	esac
	name=$main-$(echo $metric | tr ._ --)
	{
		figure "$name" "$all" "Base scheduler over itself augmented: $what"
		cat <<END
set style data histogram
set style histogram errorbars gap 1 linewidth 1
set ylabel 'ratio; above 1 is faster'
set yrange [0:*]
set arrow 1 from graph 0, first 1 to graph 1, first 1 nohead lc '#000000'
END
		plot "$tmp/$metric." 'using 2:3:xtic(1)'
	} | gnuplot
	echo "$out/$name.svg"
done

# Lines: over jitter, and over the size of the cluster.
lines() {
	name=$1 file=$2 title=$3 label=$4 scale=$5
	{
		figure "$name" "$file" "$title"
		cat <<END
set ylabel 'ratio; above 1 is faster'
set xlabel '$label'
$scale
set offsets graph 0.05, graph 0.05, graph 0.05, graph 0.05
END
		plot "$tmp/l." 'using 1:2:3 with yerrorlines'
	} | gnuplot
	echo "$out/$name.svg"
}

if [ -e "$out/cassini-jitter.csv" ]; then
	for who in $everyone; do
		rows cassini-jitter 'if ($at["metric"] == "policies.iterations.mean_s" &&
			$at["augment"] == "'"$who"'")
			print 100 * $at["jitter"], $at["ratio"], $at["ci95"] + 0' >"$tmp/l.$who"
	done
	lines cassini-jitter cassini-jitter "themis over itself augmented, 24 servers: mean time of an iteration" \
		"standard deviation of computing times (%)" ""
fi
if [ -e "$out/cassini-1024.csv" ]; then
	everyone='cassini crux monkeytree antiphase spray dedicated'
	for who in $everyone; do
		for servers in 24 128 512 1024; do
			rows cassini-$servers 'if ($at["metric"] == "policies.iterations.mean_s" &&
				$at["augment"] == "'"$who"'" && $at["policy"] == "themis" &&
				$at["operand"] ~ /poisson/)
				print '$servers', $at["ratio"], $at["ci95"] + 0'
		done >"$tmp/l.$who"
	done
	lines cassini-sizes "cassini-24 cassini-128 cassini-512 cassini-1024" "themis over itself augmented: mean time of an iteration" \
		"servers" "set logscale x 2"
fi
