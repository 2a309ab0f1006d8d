// SPDX-License-Identifier: Apache-2.0
// parts.jsx - what all views are made of: tables, panels with their exports, legends.
import { useRef, useState } from "preact/hooks";
import { csv, save, svgText } from "../export.js";
import { dark, href } from "../state.js";
import { jobColor } from "../color.js";

const MAX_ROWS = 250;

// columns: {key, name, show(row) (default: the value as text), isNumber}.  'rows' hold
// raw values by key: the exports have these.
export function Table({ caption, columns, rows, empty, isTitled }) {
	const [limit, setLimit] = useState(MAX_ROWS);
	if (!rows.length) return <p class="empty">{empty ?? "Nothing to show."}</p>;
	return (
		<div class="scroll" tabindex="0" role="region" aria-label={`${caption}, table`}>
			<table>
				<caption class={isTitled ? "unseen" : ""}>{caption}</caption>
				<thead><tr>{columns.map((c) => <th scope="col" class={c.isNumber ? "n" : ""}>{c.name}</th>)}</tr></thead>
				<tbody>
					{rows.slice(0, limit).map((row) => (
						<tr key={row.key} class={row.isMarked ? "marked" : ""}>
							{columns.map((c) => (
								<td class={c.isNumber ? "n" : c.isLong ? "long" : ""}>{c.show ? c.show(row) : row[c.key] ?? "-"}</td>
							))}
						</tr>
					))}
				</tbody>
			</table>
			{rows.length > limit && (
				<p>{limit} of {rows.length} rows. <button type="button" onClick={() => setLimit(limit * 4)}>Show more</button></p>
			)}
		</div>
	);
}

// A chart with its table behind it and its exports.  'svg' makes the text of an SVG;
// without it, the first <svg> of the panel is saved; 'isText': the chart is text.  'rows'
// may be a function: they are needed rarely.
export function Panel({ title, name, columns, rows, json, svg, isText, empty, children }) {
	const [isTable, setTable] = useState(false);
	const box = useRef(null);
	const all = () => (typeof rows === "function" ? rows() : rows);
	const saveSvg = () => {
		const drawn = box.current.querySelector("svg.chart");
		save(`${name}.svg`, "image/svg+xml", svg ? svg() : svgText(drawn));
	};
	return (
		<section class="panel" aria-label={title} ref={box}>
			<div class="head">
				<h2>{title}</h2>
				<div class="tools">
					{children && <button type="button" aria-pressed={isTable} onClick={() => setTable(!isTable)}>as table</button>}
					<button type="button" onClick={() => save(`${name}.csv`, "text/csv", csv(columns, all()))}>CSV</button>
					<button type="button" onClick={() => save(`${name}.json`, "application/json", JSON.stringify(json ?? all(), null, 2))}>JSON</button>
					{children && !isText && (!isTable || svg) && <button type="button" onClick={saveSvg}>SVG</button>}
				</div>
			</div>
			{children && !isTable ? children : <Table caption={title} isTitled columns={columns} rows={all()} empty={empty} />}
		</section>
	);
}

export const LinkName = ({ name }) => <a class="name" data-row href={href("link", { link: name })}>{name}</a>;
export const JobName = ({ name }) => <a class="name" data-row href={href("job", { job: name })}>{name}</a>;

export const Names = ({ of: As, names }) => names.map((name, i) => <>{i > 0 && ", "}<As name={name} /></>);

export const NEEDS_SCHEDULER = "Slowdowns, advice, actions and the mode need antiphase-scheduler, and its page; this one shows telemetry.";

export const Command = ({ text }) => <p class="command">Command: <code>{text}</code></p>;

export const Swatch = ({ index }) => (
	<svg class="swatch" width="12" height="12" aria-hidden="true"><rect width="12" height="12" fill={jobColor(index, dark.value)} /></svg>
);

export const Facts = ({ rows }) => (
	<dl class="facts">{rows.map(([name, value]) => <div><dt>{name}</dt><dd>{value}</dd></div>)}</dl>
);
