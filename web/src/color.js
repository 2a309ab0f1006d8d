// SPDX-License-Identifier: Apache-2.0
// color.js - colors that people with any color vision can tell apart: cividis for
// utilization, Okabe and Ito's for jobs.  Color is never the only carrier of meaning.

const CIVIDIS = ["#00224e", "#002f6f", "#1d3b6d", "#35466b", "#49526b", "#5a5d6e", "#6a6972",
	"#7a7677", "#8a8378", "#9b9077", "#ad9e73", "#bfac6c", "#d2ba62", "#e5c954", "#f4d746", "#fee838"];

// Steps of the legend, as shares of the capacity.
export const THRESHOLDS = [0, 0.1, 0.25, 0.5, 0.7, 0.9];
const ON_DARK = [3, 6, 8, 10, 13, 15];
const ON_LIGHT = [14, 12, 10, 7, 4, 0];

// The number of the step of a utilization; -1: unknown.
export function step(use) {
	if (use === null || use === undefined) return -1;
	let i = 0;
	while (i + 1 < THRESHOLDS.length && use >= THRESHOLDS[i + 1]) i++;
	return i;
}

// More traffic stands out more: bright on dark, dark on light.
export function useColor(use, dark) {
	const i = step(use);
	if (i < 0) return dark ? "#3a3f46" : "#c9ccd1";
	return CIVIDIS[(dark ? ON_DARK : ON_LIGHT)[i]];
}

const JOBS_LIGHT = ["#0072b2", "#d55e00", "#007a5a", "#a8478a", "#8a6d00", "#2f86b8", "#555555", "#7a3fa0"];
const JOBS_DARK = ["#56b4e9", "#e69f00", "#2fc49a", "#dd9cc3", "#f0e442", "#8fb8ff", "#bbbbbb", "#d98a5b"];

// A job's color, by its place among the names; OTHER for traffic of no job.
export const OTHER = -1;
export function jobColor(index, dark) {
	if (index < 0) return dark ? "#6b7280" : "#9aa0a8";
	const colors = dark ? JOBS_DARK : JOBS_LIGHT;
	return colors[index % colors.length];
}
