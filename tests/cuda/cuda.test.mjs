// Ops and kernels on an NVIDIA GPU: make test-cuda (see cuda.mjs for the engine).
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { accounted, host, jsonLines, table } from "../engine/traces.mjs";
import { device, engine, env, ggscope, kernelList, maybe, model, output, run, say, scratch } from "./cuda.mjs";

maybe("the engine finds the device", () => {
    say(`${new Date().toISOString().slice(0, 10)}, ${device()}`);
    const probe = run(engine, ["run", "-m", model("tiny"), "-p", "x", "-n", "1", "--device", "none,"], { env });
    assert.match(probe.stderr, /it has .*CUDA0/);
});

let n = 0;
const prompt = ["-p", "Once upon a time", "-t", "2", "--ignore-eos", "--json", "--logits-hash"];
// Runs a model alone and recorded, and asserts equal logits. Returns the experiment.
function recorded(file, options, { gpuOps = "all", more = {} } = {}) {
    const directory = scratch(`cuda-${n++}`), args = ["-m", file, ...prompt, ...options], both = { env: { ...env, ...more } };
    const plain = JSON.parse(output(engine, ["run", ...args], both));
    const traced = JSON.parse(output(ggscope, ["run", ...args, "--gpu-ops", gpuOps, "-q", "-o", directory], both));
    assert.equal(traced.logits_hash, plain.logits_hash, "logits are the same with and without recording");
    return directory;
}
const stats = (directory, by = "device") => JSON.parse(output(ggscope, ["stats", "--json", "--by", by, directory]));
function whole(directory) {
    const runs = table(directory, "runs"), checked = run(ggscope, ["check", directory]);
    assert.ok(runs.some((r) => r.backend === "CUDA0"));
    runs.forEach(accounted);
    assert.equal(checked.status, 0, checked.stdout);
    return runs;
}

// ---- every node, everywhere ----

const layers = ["--layers", "3"], experts = ["--experts", "4", "--experts-used", "2"];
const models = {
    "tiny (22 layers)": ["tiny"],
    "moe (24 layers of 32 experts)": ["moe"],
    llama: ["tiny", ...layers],
    "llama with experts": ["tiny", ...layers, ...experts],
    gpt2: ["tiny", "--arch", "gpt2", ...layers],
    gemma3: ["tiny", "--arch", "gemma3", ...layers],
    qwen3moe: ["tiny", "--arch", "qwen3moe", ...layers, ...experts],
    deepseek2: ["tiny", "--arch", "deepseek2", ...layers, ...experts],
};
const placements = { "on the device": ["-ngl", "99"], "in part": ["-ngl", "2"], "with experts on the CPU": ["-ngl", "99", "-ot", "exps=CPU"] };
for (const [name, preset] of Object.entries(models)) {
    for (const [where, placement] of Object.entries(placements)) {
        if (where.startsWith("with experts") && !preset.includes("--experts") && preset[0] !== "moe") continue;
        for (const graphs of [true, false]) {
            maybe(`${name} ${where}, CUDA graphs ${graphs ? "on" : "off"}: the same logits, every node accounted for`, () => {
                const directory = recorded(model(...preset), ["-n", "8", ...placement], { more: graphs ? {} : { GGML_CUDA_DISABLE_GRAPHS: "1" } });
                const runs = whole(directory), sum = (key) => runs.reduce((total, r) => total + Number(r[key]), 0);
                say(`${name} ${where}, CUDA graphs ${graphs ? "on" : "off"}: ${sum("nodes")} nodes of ${runs.length} graph runs: ${sum("executed")} executed, ${sum("absorbed")} absorbed, ${sum("empty")} empty, ${sum("skipped")} skipped, ${sum("unseen")} unseen`);
            });
        }
    }
}

// ---- times ----

// The time covered by at least one of the intervals [begin, end).
function covered(intervals) {
    let total = 0, until = -Infinity;
    for (const [begin, end] of intervals.sort((a, b) => a[0] - b[0])) {
        if (end > until) total += end - Math.max(begin, until);
        until = Math.max(until, end);
    }
    return total;
}
const span = (row) => [Number(row.begin_ns), Number(row.begin_ns) + Number(row.duration_ns)];
const byRun = (rows) => Map.groupBy ? Map.groupBy(rows, (r) => r.run) : rows.reduce((m, r) => m.set(r.run, [...(m.get(r.run) ?? []), r]), new Map());

for (const preset of ["tiny", "moe"]) {
    for (const [mode, more] of Object.entries({ "CUDA graphs": {}, "no CUDA graphs": { GGML_CUDA_DISABLE_GRAPHS: "1" } })) {
        maybe(`${preset}, ${mode}: kernels are those of CUPTI's own list, and ops are their sum`, () => {
            const args = ["-m", model(preset), ...prompt, "-n", "12", "-ngl", "99"];
            const directory = recorded(model(preset), ["-n", "12", "-ngl", "99"], { more });
            const kernels = table(directory, "kernels"), ops = table(directory, "op_runs").filter((o) => o.submit_ns !== "");
            assert.ok(kernels.every((k) => k.name !== "" && Number(k.duration_ns) > 0));
            assert.equal(kernels.filter((k) => k.node === "").length, 0, "each belongs to a node");
            const launched = kernels.filter((k) => k.grid_x !== "" && k.grid_x !== "0");

            // Measured by another program for the same command without ggscope.
            const { kernels: own } = kernelList(engine, ["run", ...args], more);
            const counts = new Map();
            for (const k of launched) counts.set(k.name, (counts.get(k.name) ?? 0) + 1);
            const sorted = (values) => [...values].sort((a, b) => a - b);
            assert.deepEqual(sorted(counts.values()), sorted(own.map((k) => k.count)), "as many kernels of each name");
            const ours = launched.reduce((total, k) => total + Number(k.duration_ns), 0), theirs = own.reduce((total, k) => total + k.ns, 0);

            // An op lasts from its first kernel to its last, and ops do not overlap.
            const kernelsOf = byRun(kernels), opsOf = byRun(ops);
            let opTime = 0, opBusy = 0, spans = 0, busy = 0;
            for (const [number, list] of opsOf) {
                const own = kernelsOf.get(number), nodes = new Map();
                for (const k of own) {
                    const [begin, end] = span(k), [b, e] = nodes.get(k.node) ?? [begin, end];
                    nodes.set(k.node, [Math.min(b, begin), Math.max(e, end)]);
                }
                const sum = list.reduce((total, o) => total + Number(o.duration_ns), 0), times = list.map(span);
                opBusy += list.reduce((total, o) => total + Number(o.duration_ns) - Number(o.inner_wait_ns), 0);
                const between = Math.max(...times.map(([, e]) => e)) - Math.min(...times.map(([b]) => b));
                assert.ok(sum <= between, `run ${number}: ops take ${sum} ns of ${between}`);
                opTime += sum, spans += covered([...nodes.values()]), busy += covered(own.map(span));
            }
            say(`${preset}, ${mode}: ${launched.length} kernels, CUPTI's own list has ${own.reduce((t, k) => t + k.count, 0)}; time ${(ours / theirs).toFixed(3)} of its; ops are busy ${(opBusy / busy).toFixed(3)} of when kernels ran (${(opBusy / ours).toFixed(3)} of their sum), last ${(opTime / spans).toFixed(3)} of what their kernels span`);
            assert.ok(Math.abs(ours / theirs - 1) < 0.05, `kernels take ${ours} ns, CUPTI's own list says ${theirs}`);
            assert.ok(Math.abs(opTime / spans - 1) < 0.05, `ops take ${opTime} ns, their kernels span ${spans}`);
            assert.ok(Math.abs(opBusy / busy - 1) < 0.05, `ops are busy ${opBusy} ns, kernels ran in ${busy}`);
        });
    }

    maybe(`${preset}: outside of the window runs are seen as a whole, and that is said`, () => {
        const directory = recorded(model(preset), ["-n", "12", "-ngl", "99"], { gpuOps: "first:4" });
        const found = stats(directory).devices.find((d) => d.name === "CUDA0");
        assert.equal(found.runs, 12);
        assert.ok(found.runs_with_op_times >= 4 && found.runs_with_op_times < 12 && found.busy === null);
        const text = output(ggscope, ["stats", directory]);
        assert.match(text, /^device {4}CUDA0: op times of [\d.]+ % of its time: \d+ of 12 graph runs$/m);
        assert.match(text, /^ +a run of a token takes .* with op times, .* without: they cost -?\d+ %$/m);
        assert.match(text, /^estimated: \d+ graph runs of devices/m);
        const { estimated } = stats(directory);
        assert.equal(estimated.runs + found.runs_with_op_times, 12);
        assert.ok(estimated.by_op.some((row) => row.op === "MUL_MAT" && row.wall_ns > 0));
        assert.match(run(ggscope, ["check", directory]).stdout, /^warning +time in ops/m);
    });

    maybe(`${preset}: --gpu-ops none`, () => {
        const directory = recorded(model(preset), ["-n", "12", "-ngl", "99"], { gpuOps: "none" });
        const found = stats(directory).devices.find((d) => d.name === "CUDA0");
        assert.deepEqual([found.runs, found.runs_with_op_times, found.busy], [12, 0, null]);
    });
}

maybe("another profiler in the program: it goes on, and that is said", () => {
    const directory = scratch("profiled"), args = ["-m", model("tiny"), ...prompt, "-n", "4", "-ngl", "99"];
    const { lister } = kernelList(engine, ["run", ...args]);
    const traced = run(ggscope, ["run", ...args, "--gpu-ops", "all", "-q", "-o", directory], { env: { ...env, CUDA_INJECTION64_PATH: lister } });
    assert.equal(traced.status, 0, traced.stderr);
    assert.match(traced.stderr, /ops on CUDA devices have no times: another profiler is attached/);
    assert.match(traced.stdout, /^kernel \d+ \d+ /m);
    assert.equal(stats(directory).devices.find((d) => d.name === "CUDA0").runs_with_op_times, 0);
});

// ---- unusual conditions ----

const small = () => model("tiny", "--layers", "3");
const logits = (text) => jsonLines(text).filter((line) => line.logits);

maybe("two contexts on one device", () => {
    const directory = scratch("contexts"), command = [host, "contexts", "-l", "99", small()];
    const plain = output(command[0], command.slice(1), { env });
    const traced = output(ggscope, ["record", "--gpu-ops", "all", "-q", "-o", directory, "--", ...command], { env });
    const sorted = (text) => logits(text).map((l) => JSON.stringify(l)).sort();
    assert.ok(logits(plain).length > 0);
    assert.deepEqual(sorted(traced), sorted(plain));
    assert.equal(new Set(whole(directory).map((r) => r.context)).size, 2);
    assert.ok(table(directory, "op_runs").every((o) => o.submit_ns === "" || Number(o.duration_ns) > 0));
});

for (const mode of ["fork", "children", "fork-inside"]) {
    maybe(`a program that forks (${mode})`, () => {
        const directory = scratch(mode), command = [host, mode, "-l", "99", ...(mode === "fork-inside" ? ["-n", "2"] : []), small()];
        const plain = run(command[0], command.slice(1), { env });
        const traced = run(ggscope, ["record", "--gpu-ops", "all", "-q", "-o", directory, "--", ...command], { env });
        assert.equal(traced.status, plain.status, traced.stderr);
        assert.deepEqual(logits(traced.stdout), logits(plain.stdout));
        whole(directory);
    });
}

for (const signal of ["SIGINT", "SIGKILL"]) {
    maybe(`${signal} on a recording of a device`, async () => {
        const directory = scratch(signal);
        const child = spawn(ggscope, ["record", "--gpu-ops", "all", "-q", "-o", directory, "--", "sh", "-c", 'echo $$; exec "$0" "$@"', host, "generate", "-g", "3000", "-l", "99", small()], { env, stdio: ["ignore", "pipe", "pipe"] });
        let stdout = "";
        child.stdout.setEncoding("utf8").on("data", (text) => (stdout += text));
        const closed = once(child, "close");
        while (logits(stdout.slice(0, stdout.lastIndexOf("\n") + 1)).length < 20) await once(child.stdout, "data");
        process.kill(signal === "SIGINT" ? child.pid : Number(stdout.split("\n")[0]), signal);
        await closed;
        assert.ok(existsSync(join(directory, "trace.ggs")));
        const runs = table(directory, "runs"), complete = runs.filter((r) => r.interrupted === "0");
        // Kernel records are read every eight runs.
        assert.ok(complete.length >= 10 && runs.length - complete.length <= 9, `${runs.length} runs, ${complete.length} whole`);
        complete.forEach(accounted);
        const checked = run(ggscope, ["check", directory]);
        assert.equal(checked.status, 0, checked.stdout);
        assert.equal(JSON.parse(readFileSync(join(directory, "experiment.json"))).signal, signal);
    });
}
