// Builds the page: `npm run build`, into $GGSCOPE_UI_OUT or dist/.
//     index.html app.js app.css worker.js icon.svg    what `ggscope serve` hands out
//     report.html                                     the same page as one file; `ggscope report` puts its answers where the mark is
import { build } from "esbuild";
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = resolve(process.env.GGSCOPE_UI_OUT ?? join(here, "dist"));
const mark = "<!--ggscope-answers-->";

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

async function page() {
    await build({ ...options, entryPoints: { app: "src/main.tsx" }, outdir: out, define: { REPORT: "false" } });
    await build({ ...options, entryPoints: { worker: "src/worker.ts" }, outdir: out, define: { REPORT: "false" } });
    for (const file of ["index.html", "icon.svg"]) await copyFile(join(here, "src", file), join(out, file));
}

// One classic script inside the page: file:// allows no modules, no workers and no requests.
async function report() {
    const { outputFiles } = await build({
        ...options,
        entryPoints: { report: "src/main.tsx" },
        outdir: out,
        define: { REPORT: "true" },
        write: false,
    });
    const text = (ending) => outputFiles.find((file) => file.path.endsWith(ending)).text;
    const icon = (await readFile(join(here, "src", "icon.svg"), "utf8")).trim();
    const policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";
    const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>ggscope</title>
<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(icon)}">
<style>${text(".css").replace(/<\//g, "<\\/")}</style>
</head>
<body>
<div id="app"><noscript>This page needs JavaScript: it draws the recording in your browser. Nothing leaves your machine.</noscript></div>
${mark}
<script>${text(".js").replace(/<\/script/gi, "<\\/script").replace(/<!--/g, "<\\!--")}</script>
</body>
</html>
`;
    if (html.split(mark).length !== 2) throw new Error(`report.html must hold ${mark} exactly once`);
    await writeFile(join(out, "report.html"), html);
}

await mkdir(out, { recursive: true });
await page();
await report();
