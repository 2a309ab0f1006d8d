// SPDX-License-Identifier: Apache-2.0
// export.js - a chart's or table's figures as a file.

// A field that begins like a formula is no formula in a spreadsheet.
function field(value) {
	if (value === null || value === undefined) return "";
	const text = typeof value === "number" ? String(value) : /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
	return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function csv(columns, rows) {
	const lines = [columns.map((c) => field(c.key))];
	for (const row of rows) lines.push(columns.map((c) => field(row[c.key])));
	return lines.map((cells) => cells.join(",")).join("\n") + "\n";
}

export function save(name, type, text) {
	const url = URL.createObjectURL(new Blob([text], { type }));
	const link = document.createElement("a");
	link.href = url;
	link.download = name;
	link.click();
	setTimeout(() => URL.revokeObjectURL(url), 1000);
}

export function svgText(element) {
	const copy = element.cloneNode(true);
	copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
	return new XMLSerializer().serializeToString(copy);
}
