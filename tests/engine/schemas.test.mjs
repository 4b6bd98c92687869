// Every JSON answer of every verb and path of the server, checked against its generated schema: the
// contract for scripts.
import { test, after } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { once } from "node:events";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { bin, build, engine, ggscope, installed, model, output, root, run, scratch } from "../lib.mjs";
import { obstacle } from "./machine.mjs";
import { noLimit } from "./pressure.mjs";

const folder = join(build, "schemas");
const { default: Ajv } = createRequire(join(installed(join(root, "tests", "schemas"), "schemas"), "package.json"))("ajv/dist/2020.js");
const ajv = new Ajv({ strict: true, allowUnionTypes: true, allErrors: true });
const names = readdirSync(folder).filter((file) => file.endsWith(".schema.json")).map((file) => file.slice(0, -".schema.json".length));
const read = (name) => JSON.parse(readFileSync(join(folder, `${name}.schema.json`), "utf8"));
const checks = Object.fromEntries(names.map((name) => [name, ajv.compile(read(name))]));

// The schema of each command and path. {dir}, {moe}, {dense} and {proved} are recordings; 1, 1 and
// 5 are an existing run, token and node.
const verbs = [
    ["stats", ["stats", "--json", "{dir}"]],
    ["stats", ["stats", "--json", "--by", "op,layer,component,tensor,thread,token,device,context,process,host,request,sequence", "{dir}"]],
    ["stats", ["stats", "--json", "--token", "1", "--layer", "2", "{dir}"]],
    ["roofline", ["stats", "--json", "--roofline", "{dir}"]],
    ["buffers", ["buffers", "--json", "{dir}"]],
    ["requests", ["requests", "--json", "{dir}"]],
    ["requests", ["requests", "--json", "--costs", "--cells", "--batches", "{dir}"]],
    ["log", ["log", "--json", "--limit", "400", "{dir}"]],
    ["log", ["log", "--json", "--thread", "1", "--source", "disk", "--sort", "duration", "--limit", "20", "{dir}"]],
    ["log-faults", ["log", "--json", "--faults", "--limit", "400", "{dir}"]],
    ["explain", ["explain", "--json", "{dir}"]],
    ["graph", ["graph", "--json", "{dir}"]],
    ["graph", ["graph", "--json", "--token", "1", "{dir}"]],
    ["experts", ["experts", "--json", "{dir}"]],
    ["diff", ["diff", "--json", "{dir}", "{dense}"]],
    ["diff", ["diff", "--json", "{moe}", "{dir}"]],
    ["diff", ["diff", "--json", "--fail-if", "tokens_per_s < -3 %", "--fail-if", "ops != 0", "{moe}", "{dir}"]],
    ["diff-several", ["diff", "--json", "{dense}", "{moe}", "{dir}"]],
    ["experts-domains", ["experts", "--json", "{moe}", "{moe}"]],
    ["sweep", ["sweep", "--json", "-o", "{out}", "--vary", "-n=1,2", "--repeat", "1", "--", engine, "run", "-m", "{model}", "-p", "Hi", "-t", "1"]],
    ["bench", ["bench", "--json", "-r", "2", "-b", `exec '${engine}' run -m '{model}' -p Hi -n 2 -t 1`, "--fail-if", "bytes_read > 1 %", "--", engine, "run", "-m", "{model}", "-p", "Hi", "-n", "2", "-t", "1"]],
    ["tune", ["tune", "--json", "-q", "-r", "2", "--", engine, "run", "-m", "{model}", "-p", "Hi", "-n", "2"]],
    ["sql", ["sql", "--json", "{dir}", "SELECT * FROM ops LIMIT 3"]],
    ["check", ["check", "--json", "{dir}"]],
    ["note", ["note", "--json", "{dir}"]],
    ["prove", ["prove", "--json", "{proved}"]],
    ["values", ["values", "--json", "{proved}"]],
    ["values-diff", ["diff", "--values", "--json", "{proved}", "{proved}"]],
    ["paging", ["paging", "--json", "{dir}"]],
    ["paging", ["paging", "--json", "--policy", "opt", "--cold", "{dir}"]],
    ["run", ["run", "--json", "-q", "-m", "{model}", "-p", "Hi", "-n", "3", "--logits-hash", "-o", "{out}"]],
    ["doctor", ["doctor", "--json"]],
    ["gguf", ["gguf", "--json", "{model}"]],
    ["gguf-regions", ["gguf", "--json", "--regions", "{model}"]],
    ["gguf-kv", ["gguf", "--json", "--kv", "{model}"]],
    ["gguf-extents", ["gguf", "--json", "--extents", "{model}"]],
];
const routes = [
    ["experiments", "/api/experiments"],
    ["library", "/api/library"],
    ["summary", "/api/x/N/summary"],
    ["stats", "/api/x/N/stats?by=layer,component,tensor,thread,token,device"],
    ["stats", "/api/x/N/stats?tokens=1..2"],
    ["explain", "/api/x/N/explain"],
    ["roofline", "/api/x/N/roofline?tokens=1..2"],
    ["tokens", "/api/x/N/tokens?bins=3"],
    ["map", "/api/x/N/map"],
    ["heat", "/api/x/N/heat"],
    ["heat", "/api/x/N/heat?tokens=1..1"],
    ["buffers", "/api/x/N/buffers"],
    ["requests", "/api/x/N/requests"],
    ["requests", "/api/x/N/requests?cells=1&batches=1"],
    ["requests", "/api/x/N/requests?request=1"],
    ["requests", "/api/x/N/requests?from=0&count=1&sort=wait_ns&desc=1"],
    ["slots", "/api/x/N/slots?pixels=50"],
    ["buffers", "/api/x/N/buffers?transfers=1"],
    ["log", "/api/x/N/log?from=20&count=300"],
    ["log", "/api/x/N/log?operands=1&sort=bytes&desc=1"],
    ["op", "/api/x/N/op?run=1&node=0"],
    ["op", "/api/x/N/op?run=2&node={experts}"],
    ["same", "/api/x/N/same?run=2&node={experts}"],
    ["aggregate", "/api/x/N/aggregate?begin=0&end=400000000"],
    ["aggregate", "/api/x/N/aggregate"],
    ["log-faults", "/api/x/N/faults?count=20"],
    ["disk", "/api/x/N/disk?count=20"],
    ["access", "/api/x/N/access?columns=30&rows=20"],
    ["choices", "/api/x/N/choices?layer=1"],
    ["paging", "/api/x/N/paging"],
    ["prove", "/api/x/3/prove"], // the one with page truth
    ["graph", "/api/x/N/graph?token=1"],
    ["graph", "/api/x/N/graph?run=2"],
    ["experts", "/api/x/N/experts?tokens=1.."],
    ["diff", "/api/compare?a=0&b=1"],
    ["diff-several", "/api/several?of=0,1,2"],
    ["experts-domains", "/api/domains?of=1,1"],
    ["values", "/api/x/3/values?layer=1"], // the one with values
    ["values-map", "/api/x/3/values-map?of=largest&by=layer"],
    ["values-diff", "/api/values-diff?a=3&b=3"],
    ["values-map", "/api/values-diff-map?a=3&b=3&columns=2"],
    ["link", "/api/x/N/link"],
    ["occupancy", "/api/x/N/occupancy?bins=20"],
    ["timeline", "/api/x/N/timeline?pixels=50"],
    ["timeline", "/api/x/N/timeline?begin=0&end=400000000&pixels=4096"],
    ["curves", "/api/x/N/curves?pixels=20"],
];

function conforms(name, answer, what) {
    assert.ok(checks[name], `there is no schema ${name}`);
    const good = checks[name](answer);
    assert.ok(good, `${what} is not as ${name}.schema.json says: ${JSON.stringify(checks[name].errors?.slice(0, 5))}`);
}

// ---- recordings: plain, with experts, with all machine observations, with page truth ----

const recorded = new Map(), permitted = ["faults", "io"].filter((topic) => !obstacle(topic)).map((topic) => `--${topic}`);
const everything = [...permitted, "--residency", "--cold", ...(noLimit() ? [] : ["--memory", "400M"])];
function recording(name) {
    const options = { tiny: [[], "tiny", []], moe: [[], "moe", []], all: [everything, "tiny", ["--no-repack"]], proved: [["--prove", "--values"], "tiny", ["--no-repack"]] }[name];
    if (!recorded.has(name)) {
        const directory = scratch(`schemas-${name}`);
        output(ggscope, ["record", "-q", ...options[0], "-o", directory, "--", engine, "run", "-m", model(options[1]), "-p", "Once upon a time", "-n", "4", "-t", "2", "--ignore-eos", ...options[2]]);
        recorded.set(name, directory);
    }
    return recorded.get(name);
}
const kinds = ["tiny", "moe", "all", "proved"];

// ---- the schemas themselves ----

// Every object lists its possible keys.
function strict(schema, path) {
    if (Array.isArray(schema)) return schema.forEach((part, i) => strict(part, `${path}/${i}`));
    if (schema === null || typeof schema !== "object") return;
    if ([schema.type].flat().includes("object")) assert.equal(schema.additionalProperties, false, `${path} lets any key in`);
    for (const [key, part] of Object.entries(schema)) strict(part, `${path}/${key}`);
}

test("schemas allow no key that they do not name, and each has an answer that is compared with it", () => {
    const used = new Set([...verbs, ...routes, ["error"]].map(([name]) => name));
    for (const name of names) {
        strict(read(name), name);
        assert.ok(used.has(name), `${name}.schema.json is the schema of nothing`);
    }
});

test("docs/json.md and docs/glossary.md are what the build writes", () => {
    for (const [what, page] of [["markdown", "json.md"], ["glossary", "glossary.md"]]) {
        output(bin("contract"), [what, scratch(page)]);
        assert.equal(readFileSync(join(root, "docs", page), "utf8"), readFileSync(scratch(page), "utf8"), "run make docs");
    }
});

test("every verb that takes --json and every path of the server is compared with a schema", () => {
    const files = readdirSync(join(root, "src", "cli"), { recursive: true }).filter((file) => /^([a-z]+\/)?cmd-[a-z]+\.c$/.test(file));
    const takers = files.filter((file) => /GGS_OPTION_JSON|"json"/.test(readFileSync(join(root, "src", "cli", file), "utf8"))).map((file) => file.match(/cmd-([a-z]+)\.c$/)[1]);
    const paths = [...readFileSync(join(root, "src", "serve", "site.c"), "utf8").matchAll(/\{"([a-z]+)", (?:true|false), ggs_route_/g)].map((match) => match[1]);
    assert.ok(takers.length > 13 && paths.length > 14);
    for (const verb of takers.filter((verb) => verb !== "export")) assert.ok(verbs.some(([, args]) => args[0] === verb), `ggscope ${verb} --json`);
    // figure answers with SVG, PDF or CSV, compared in figure.test.mjs and report.test.mjs.
    for (const path of paths.filter((path) => path !== "figure")) assert.ok(routes.some(([, route]) => new RegExp(`/${path}(\\?|$)`).test(route)), path);
});

test("a key too much, one too few and a wrong type are noticed", () => {
    const good = JSON.parse(output(ggscope, ["buffers", "--json", recording("tiny")]));
    const { count, ...less } = good;
    for (const bad of [{ ...good, more: 1 }, less, { ...good, count: "5" }, { ...good, buffers: [{ ...good.buffers[0], id: 1 }] }])
        assert.throws(() => conforms("buffers", bad, "it"));
});

test("of a joined experiment too", () => {
    const joined = scratch("schemas-joined");
    output(ggscope, ["join", "-q", recording("tiny"), recording("moe"), "-o", joined]);
    const answer = JSON.parse(output(ggscope, ["stats", "--json", "--by", "process,host", joined]));
    conforms("stats", answer, "stats of a joined experiment");
    assert.equal(answer.processes.by_process.length, 2);
});

test("the recordings have something of everything that can be recorded here", (t) => {
    const { machine, pattern, weights } = JSON.parse(output(ggscope, ["stats", "--json", recording("all")]));
    assert.ok(pattern.reads > 0 && weights.length > 0 && machine.load !== null && machine.residency !== null && machine.cold !== null);
    const absent = Object.keys(machine).filter((key) => machine[key] === null);
    t.diagnostic(absent.length ? `not recorded here: ${absent.join(", ")}` : "all parts of the machine were recorded");
});

// ---- verbs ----

for (const [name, args] of verbs)
    test(`ggscope ${args.join(" ")}`, (t) => {
        for (const kind of args.some((word) => word.startsWith("{dir")) ? kinds : ["tiny"]) {
            const line = args.map((word) => word.replace("{dir}", () => recording(kind)).replace("{moe}", () => recording("moe")).replace("{dense}", () => recording("tiny")).replace("{proved}", () => recording("proved")).replace("{model}", () => model("moe")).replace("{out}", () => scratch(`out-${name}`)));
            const result = run(ggscope, line);
            if (name === "gguf-extents" && result.status !== 0) return t.skip(result.stderr.trim());
            assert.ok(result.status === 0 || (result.status === 1 && result.stdout !== ""), result.stderr);
            conforms(name, JSON.parse(result.stdout), line.join(" "));
        }
    });

// ---- the server ----

let server = null;
after(() => server?.process.kill());
async function start() {
    if (server) return server;
    const process_ = spawn(ggscope, ["serve", ...kinds.map(recording)], { stdio: ["ignore", "pipe", "inherit"] });
    const address = new URL(String((await once(process_.stdout, "data"))[0]).trim());
    return (server = { process: process_, address });
}

// JSON, or the header of columns.
async function ask(path) {
    const { address } = await start();
    for (;;) {
        const response = await fetch(new URL(`.${path}`, address));
        if (response.status === 202) {
            await response.arrayBuffer();
            await new Promise((resolve) => setTimeout(resolve, 20));
            continue;
        }
        assert.equal(response.status, 200, `${path}: ${response.status}`);
        const bytes = Buffer.from(await response.arrayBuffer());
        if (bytes.toString("latin1", 0, 4) !== "GGSC") return JSON.parse(bytes.toString());
        return JSON.parse(bytes.toString("utf8", 16, 16 + bytes.readUInt32LE(8)));
    }
}

// A node of graph run 2 that chooses experts, or without any, one that multiplies.
const nodeOf = (kind) => JSON.parse(output(ggscope, ["log", "--json", "--op", kind === "moe" ? "MUL_MAT_ID" : "MUL_MAT", recording(kind)])).ops.find((op) => op.run === 2).node;

for (const [name, path] of routes)
    test(path, async () => {
        for (const index of path.includes("/N/") ? kinds.keys() : [0]) {
            const asked = path.replace("/N/", `/${index}/`).replace("{experts}", () => nodeOf(kinds[index]));
            conforms(name, await ask(asked), `${asked} of ${kinds[index]}`);
        }
    });

test("an error", async () => {
    const { address } = await start();
    for (const [path, status] of [["/api/x/99/summary", 404], ["/api/x/0/stats?tokens=x", 400], ["/api/x/0/stats?tokens=99", 404], ["/api/nothing", 404]]) {
        const response = await fetch(new URL(`.${path}`, address));
        assert.equal(response.status, status, path);
        conforms("error", await response.json(), path);
    }
});
