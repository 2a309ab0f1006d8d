// SPDX-License-Identifier: Apache-2.0
// stack.js - stacked areas of a series as SVG paths.
import { stack } from "../model/series.js";

export const escapeXml = (text) => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`)
	// Characters that no XML has.
	.replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, "?");

// {areas, capacity_y}: a path for each name, drawn as steps, gaps left out.
export function stackPaths(series, capacity_bps, width, height) {
	const sums = stack(series.rows);
	const top = Math.max(capacity_bps ?? 0, ...(sums.at(-1) ?? []).map((v) => v ?? 0), 1) * 1.05;
	const y = (bps) => Math.round((1 - bps / top) * height * 10) / 10;
	const n = series.times_us.length;
	const x = (i) => Math.round((i / n) * width * 10) / 10;
	const areas = sums.map((row, k) => {
		let path = "";
		for (let i = 0; i < n; i++)
			if (row[i] !== null)
				path += `M${x(i)} ${y(k ? sums[k - 1][i] ?? 0 : 0)}V${y(row[i])}H${x(i + 1)}V${y(k ? sums[k - 1][i] ?? 0 : 0)}Z`;
		return path;
	});
	return { areas, capacity_y: capacity_bps > 0 ? y(capacity_bps) : null };
}
