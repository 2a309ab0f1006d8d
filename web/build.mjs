// SPDX-License-Identifier: Apache-2.0
// build.mjs - makes dist/ (or the folder that is given) from src/: the same bytes from
// the same sources.
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const MAX_PAGE_BYTES = 80 * 1024; // Of all files of the page, compressed.
const root = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(root, "dist");

// Names from outside are text, never markup.
for (const file of readdirSync(join(root, "src"), { recursive: true }))
	if (/\.jsx?$/.test(file) && /innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b/.test(readFileSync(join(root, "src", file), "utf8")))
		throw new Error(`src/${file} makes markup of text`);

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const result = await build({
	entryPoints: { app: join(root, "src/main.jsx") }, bundle: true, minify: true, outdir: out, absWorkingDir: root,
	format: "iife", target: "es2020", jsx: "automatic", jsxImportSource: "preact", legalComments: "none",
	charset: "utf8", metafile: true, logLevel: "warning", define: { "process.env.NODE_ENV": '"production"' },
});
for (const file of ["index.html", "icon.svg"]) copyFileSync(join(root, "src", file), join(out, file));

// The licenses of what is in the bundle.
const packages = new Set(Object.keys(result.metafile.inputs).map((p) => p.match(/node_modules\/((?:@[^/]+\/)?[^/]+)/)?.[1]).filter(Boolean));
const texts = [...packages].sort().map((name) => {
	const folder = join(root, "node_modules", name);
	const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
	const file = ["LICENSE", "LICENSE.md", "license"].find((f) => existsSync(join(folder, f)));
	if (!file) throw new Error(`${name} has no license text`);
	return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
});
writeFileSync(join(out, "LICENSES.txt"), `app.js and app.css contain these packages.\n\n${texts.join("\n----\n\n")}`);

// The frame of a report, with the hashes of the inlined script and style.
const script = readFileSync(join(out, "app.js"), "utf8"), style = readFileSync(join(out, "app.css"), "utf8");
if (/<\/script|<!--/i.test(script) || /<\/style/i.test(style)) throw new Error("the bundle cannot be inlined");
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const policy = `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; img-src data: blob:; base-uri 'none'; form-action 'none'`;
writeFileSync(join(out, "report.html"), readFileSync(join(root, "src/report.html"), "utf8").replace("@POLICY@", policy));

// What this was made from: a check without node compares it.
const sources = ["build.mjs", "package-lock.json", "package.json", ...readdirSync(join(root, "src"), { recursive: true, withFileTypes: true })
	.filter((entry) => entry.isFile()).map((entry) => relative(root, join(entry.parentPath ?? entry.path, entry.name)))].sort();
writeFileSync(join(out, "SOURCES.sha256"), sources.map((file) => `${createHash("sha256").update(readFileSync(join(root, file))).digest("hex")}  ${file}\n`).join(""));

const bytes = ["app.js", "app.css", "index.html", "icon.svg"].map((f) => gzipSync(readFileSync(join(out, f)), { level: 9 }).length);
const sum = bytes.reduce((a, b) => a + b);
console.log(`${sum} bytes, compressed`);
if (sum > MAX_PAGE_BYTES) throw new Error(`the page has ${sum} bytes, expected at most ${MAX_PAGE_BYTES}`);
