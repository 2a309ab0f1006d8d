// SPDX-License-Identifier: Apache-2.0
// format.js - numbers as the commands print them: same units, same rounding.

// As printf() rounds: a value in the middle of two goes to the even one.
export function fixed(value, digits) {
	const exact = Math.abs(value).toFixed(Math.min(100, digits + 25));
	const end = exact.indexOf(".") + 1 + digits;
	const down = exact.slice(0, digits ? end : end - 1);
	if (!/^50*$/.test(exact.slice(end)) || /[13579]$/.test(down)) return value.toFixed(digits);
	return (value < 0 ? "-" : "") + down;
}

// A rate as printed on a port: "100G", "61.2G", "850M"; "-" if unknown.
export function rate(bps) {
	if (bps === null || bps === undefined || !(bps >= 0)) return "-";
	if (bps === 0) return "0";
	const g = bps / 1e9;
	if (g >= 1 && Math.abs(g - Math.round(g)) < 1e-6) return `${fixed(g, 0)}G`;
	if (g >= 9.995) return `${fixed(g, 1)}G`;
	if (g >= 0.9995) return `${fixed(g, 2)}G`;
	if (g >= 0.00995) return `${fixed(g * 1e3, 0)}M`;
	if (g >= 0.0009995) return `${fixed(g * 1e3, 1)}M`;
	if (bps >= 9950) return `${fixed(bps / 1e3, 0)}k`;
	return `${fixed(Math.max(bps, 100) / 1e3, 1)}k`;
}

const known = (value) => value !== null && value !== undefined && !Number.isNaN(value);

export const percent = (ratio, digits = 0) =>
	known(ratio) ? `${fixed(100 * ratio, digits)} %` : "-";
export const ms = (us) => (known(us) ? `${fixed(us / 1e3, 1)} ms` : "-");
export const seconds = (us) => (known(us) ? `${fixed(us / 1e6, 1)} s` : "-");
export const megabytes = (bytes) => (known(bytes) ? `${fixed(bytes / 1e6, 2)} MB` : "-");
export const number = (value, digits = 2) => (known(value) ? fixed(value, digits) : "-");
export const text = (value) => (known(value) ? String(value) : "-");

// "00:14", minutes and seconds.
export function minutes(us) {
	if (!known(us)) return "-";
	const s = Math.max(0, Math.floor(us / 1e6));
	const two = (n) => String(n).padStart(2, "0");
	return `${two(Math.floor(s / 60))}:${two(s % 60)}`;
}

// "00:14.2", minutes, seconds and tenths of a recording.
export const clock = (us) => (known(us) ? `${minutes(us)}.${Math.floor(Math.max(0, us) / 1e5) % 10}` : "-");

// "2026-11-22T07:20:08Z"; "-" if there is no time.
export function time(us) {
	if (!known(us)) return "-";
	const date = new Date(Math.floor(us / 1e6) * 1000);
	return Number.isNaN(date.getTime()) ? "-" : date.toISOString().replace(".000Z", "Z");
}

// "12 % to 18 %", or one figure if both print alike.
export function range(low, high) {
	const a = percent(low), b = percent(high);
	return a === b ? a : `${a} to ${b}`;
}

// Natural order, as the commands sort: "job-2" before "job-10".  Without Intl, which takes
// tens of milliseconds to begin.
export function compareNames(a, b) {
	let i = 0;
	while (i < a.length && a[i] === b[i]) i++;
	if (i === a.length || i === b.length) return a.length - b.length;
	let from = i;
	while (from > 0 && /\d/.test(a[from - 1])) from--;
	const [x, y] = [a, b].map((name) => /^(?!0)\d*/.exec(name.slice(from))?.[0].length ?? 0);
	return x && y && x !== y ? x - y : a[i] < b[i] ? -1 : 1;
}
