// Builds the page: `npm run build`, into $GGSCOPE_UI_OUT or dist/.
//     index.html app.js app.css worker.js icon.svg    what `ggscope serve` hands out
//     report.html                                     the same page as one file, with the engine that answers it ($GGSCOPE_WASM); `ggscope report`
//                                                     puts the experiment where the mark is
import { build } from "esbuild";
import { minify } from "terser";
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = resolve(process.env.GGSCOPE_UI_OUT ?? join(here, "dist"));
const wasm = resolve(process.env.GGSCOPE_WASM ?? join(here, "..", "build", "wasm", "ggscope.wasm"));
const mark = "<!--ggscope-experiment-->";

const options = {
    bundle: true,
    format: "iife",
    target: ["es2022"],
    jsx: "automatic",
    jsxImportSource: "preact",
    minify: !process.env.GGSCOPE_UI_READABLE,
    charset: "utf8",
    legalComments: "none",
    logLevel: "warning",
    absWorkingDir: here,
};

// esbuild bundles; terser names by frequency, which gzip packs 3 % smaller. `unsafe` assumes that
// nobody redefines what the language has (String, Array, RegExp).
async function bundle(entry, isReport) {
    const { outputFiles } = await build({ ...options, entryPoints: { [entry.replace(/\.tsx?$/, "")]: `src/${entry}` }, outdir: out, define: { REPORT: String(isReport) }, write: false });
    const text = (ending) => outputFiles.find((file) => file.path.endsWith(ending))?.text;
    const js = options.minify ? (await minify(text(".js"), { compress: { unsafe: true }, mangle: true, toplevel: true })).code : text(".js");
    return { js, css: text(".css") };
}

async function page() {
    const app = await bundle("main.tsx", false), worker = await bundle("worker.ts", false);
    await writeFile(join(out, "app.js"), app.js);
    await writeFile(join(out, "app.css"), app.css);
    await writeFile(join(out, "worker.js"), worker.js);
    for (const file of ["index.html", "icon.svg"]) await copyFile(join(here, "src", file), join(out, file));
}

// Text that stands in a script element as it is.
const script = (text) => text.replace(/<\/script/gi, "<\\/script").replace(/<!--/g, "<\\!--");

// One classic script inside the page: file:// allows no modules and no requests. The engine is started from its text, as a worker.
async function report() {
    const app = await bundle("main.tsx", true), engine = await bundle("engine-worker.ts", true);
    const module = gzipSync(await readFile(wasm), { level: 9 }).toString("base64");
    const icon = (await readFile(join(here, "src", "icon.svg"), "utf8")).trim();
    const policy = "default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval'; worker-src blob:; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";
    const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>ggscope</title>
<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(icon)}">
<style>${app.css.replace(/<\//g, "<\\/")}</style>
</head>
<body>
<div id="app"><noscript>This page needs JavaScript: it draws the recording in your browser. Nothing leaves your machine.</noscript></div>
${mark}
<script type="text/plain" id="ggscope-module">${module}</script>
<script type="text/plain" id="ggscope-engine">${script(engine.js)}</script>
<script>${script(app.js)}</script>
</body>
</html>
`;
    if (html.split(mark).length !== 2) throw new Error(`report.html must hold ${mark} exactly once`);
    await writeFile(join(out, "report.html"), html);
}

await mkdir(out, { recursive: true });
await page();
await report();
