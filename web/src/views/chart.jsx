// SPDX-License-Identifier: Apache-2.0
// chart.jsx - rates of a link by job, stacked (uPlot), and the same as SVG text.
import { useEffect, useRef } from "preact/hooks";
import { jobColor, OTHER } from "../color.js";
import * as f from "../format.js";
import { escapeXml, stackPaths } from "../layout/stack.js";
import { stack } from "../model/series.js";
import { dark } from "../state.js";

const ink = () => (dark.value ? "#c9d1d9" : "#1f2328");
const grid = () => (dark.value ? "#30363d" : "#d8dee4");

// series: as of model/series.js; 'colors[i]' is the place of names[i] among the jobs.
export function StackChart({ series, colors, capacity_bps, label, isClock }) {
	const box = useRef(null), plot = useRef(null);
	const sums = stack(series.rows);
	const unit = isClock ? 1e6 : 1e3;
	const data = [series.times_us.map((t) => t / unit), ...[...sums].reverse()];
	const shape = series.names.join("\n") + dark.value + isClock + label;
	const full = Math.max(capacity_bps ?? 0, ...(sums.at(-1) ?? [0]).map((v) => v ?? 0), 1);
	const optionsOf = (uPlot) => {
		const axis = { stroke: ink(), grid: { stroke: grid(), width: 1 }, ticks: { stroke: grid(), width: 1 } };
		return {
			width: box.current.clientWidth || 640, height: 260, legend: { show: false },
			tzDate: (s) => uPlot.tzDate(new Date(s * 1000), "UTC"),
			cursor: { drag: { x: true, y: false } },
			scales: { x: { time: Boolean(isClock) }, y: { range: [0, full * 1.05] } },
			axes: [{ ...axis, label: isClock ? "time (UTC)" : "time (ms)", labelSize: 20 },
				{ ...axis, size: 60, values: (_, marks) => marks.map(f.rate) }],
			series: [{}, ...[...series.names].reverse().map((name, k) => ({
				label: name ?? "other",
				stroke: jobColor(name === null ? OTHER : colors[series.names.length - 1 - k], dark.value),
				fill: jobColor(name === null ? OTHER : colors[series.names.length - 1 - k], dark.value),
				width: 1, points: { show: false }, paths: uPlot.paths.stepped({ align: 1 }),
			}))],
			hooks: { draw: [(u) => drawCapacity(u, capacity_bps)] },
		};
	};
	useEffect(() => {
		let observer = null, isGone = false;
		// Its script begins slowly, so only where it is needed.
		import("uplot").then(({ default: uPlot }) => {
			if (isGone) return;
			plot.current = new uPlot(optionsOf(uPlot), data, box.current);
			observer = new ResizeObserver(() => {
				if (plot.current && box.current?.clientWidth) plot.current.setSize({ width: box.current.clientWidth, height: 260 });
			});
			observer.observe(box.current);
		});
		return () => {
			isGone = true;
			observer?.disconnect();
			plot.current?.destroy();
			plot.current = null;
		};
	}, [shape, full]);
	useEffect(() => {
		plot.current?.setData(data);
	}, [series]);
	return <div class="plot" ref={box} role="img" aria-label={`${label}; 'as table' shows the figures`} />;
}

function drawCapacity(u, capacity_bps) {
	if (!(capacity_bps > 0)) return;
	const y = Math.round(u.valToPos(capacity_bps, "y", true));
	u.ctx.save();
	u.ctx.strokeStyle = ink();
	u.ctx.setLineDash([6, 4]);
	u.ctx.beginPath();
	u.ctx.moveTo(u.bbox.left, y);
	u.ctx.lineTo(u.bbox.left + u.bbox.width, y);
	u.ctx.stroke();
	u.ctx.restore();
}

// The same drawing as a file: names are escaped.
export function stackSvg(series, colors, capacity_bps, title) {
	const width = 900, height = 300;
	const { areas, capacity_y } = stackPaths(series, capacity_bps, width, height);
	const parts = areas.map((path, i) => {
		const name = series.names[i];
		const color = jobColor(name === null ? OTHER : colors[i], dark.value);
		return `<path d="${path}" fill="${color}"><title>${escapeXml(name ?? "other")}</title></path>`;
	});
	if (capacity_y !== null)
		parts.push(`<path d="M0 ${capacity_y}H${width}" stroke="${ink()}" stroke-dasharray="6 4"/>`);
	return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}"><title>${escapeXml(title)}</title>${parts.join("")}</svg>`;
}
