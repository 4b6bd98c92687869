// ggscope diff --values on many comparisons: each planted bug must be named at its op, and
// comparisons without a bug must be silent.
//
// The rules and thresholds (src/analyze/values/value-limits.c) were made with the first half of
// both suites. The second half was made after that, and the rules were not changed for it.
import { test } from "node:test";
import assert from "node:assert/strict";
import { engineFailsIn, ggscope, model, run, scratch } from "../lib.mjs";
import { compared, first, prompt, recorded, variants } from "../engine/plants.mjs";
import { rows } from "../engine/traces.mjs";
import { environment, generateScript, newest, release } from "../engine/node/recordings.mjs";
import { env as vulkan, maybe as onVulkan } from "../engine/vulkan.mjs";

const dense = () => model("tiny"), moe = () => model("moe", "--layers", "12"), half = () => model("tiny", "--layers", "12", "--types", "f16");
const gemma3 = () => model("tiny", "--arch", "gemma3", "--layers", "12"), gpt2 = () => model("tiny", "--arch", "gpt2", "--layers", "12");
const qwen3moe = () => model("tiny", "--arch", "qwen3moe", "--layers", "8"), odd = () => model("moe", "--types", "f16", "--layers", "8", "--embd", "96", "--ff", "136", "--heads", "6", "--kv-heads", "2");

// [model, bug, op that must be named]; each on the same CPU library and between two.
const plantsFirst = [
    [dense, "flip,17,^MUL_MAT:ffn_out-3$", "MUL_MAT:ffn_out-3"],
    [dense, "nan,5,^FLASH_ATTN_EXT:.Qcur-5", "FLASH_ATTN_EXT:(Qcur-5)"],
    [dense, "turn,0.05,^ROPE:Qcur-0$", "ROPE:Qcur-0"],
    [dense, "turn,0.05,^ROPE:Kcur-7$", "ROPE:Kcur-7"],
    [dense, "scale,1.02,^MUL_MAT:Vcur-11$", "MUL_MAT:Vcur-11"],
    [dense, "scale,1.01,^ADD:ffn_inp-9$", "ADD:ffn_inp-9"],
    [dense, "large,1.02,^MUL_MAT:ffn_up-2$", "MUL_MAT:ffn_up-2", { text: `${prompt} ${prompt}` }],
    [dense, "scale,1.02,^GLU:ffn_swiglu-14$", "GLU:ffn_swiglu-14"],
    [dense, "epsilon,0.01,^MUL:attn_norm-4$", "MUL:attn_norm-4"],
    [dense, "swap,40,^MUL_MAT:attn_out-6$", "MUL_MAT:attn_out-6"],
    [dense, "shift,0,^SET_ROWS:cache_k_l3", "SET_ROWS:cache_k_l3"],
    [moe, "expert,3,^MUL_MAT_ID:ffn_moe_up-4$", "MUL_MAT_ID:ffn_moe_up-4"],
    [odd, "tail,4,^MUL_MAT_ID:ffn_moe_up-4$", "MUL_MAT_ID:ffn_moe_up-4"],
    [gemma3, "scale,1.01,^MUL_MAT:ffn_up-3$", "MUL_MAT:ffn_up-3"],
    [gpt2, "tail,1,^UNARY:ffn_gelu-5$", "UNARY:ffn_gelu-5"],
    [qwen3moe, "nan,9,^SOFT_MAX:ffn_moe_probs-2$", "SOFT_MAX:ffn_moe_probs-2"],
];

// [model, A, B]: recordings without a bug.
const cleanFirst = () => {
    const all = variants(), best = all.at(-1), low = all[0], list = [];
    for (const m of [dense, moe, gemma3, gpt2, qwen3moe, odd]) {
        list.push([m, { variant: best }, { variant: low }], [m, { variant: best }, { variant: "haswell" }]);
        list.push([m, {}, { options: ["--flash-attn", "off"] }], [m, {}, { options: ["--ubatch", "8"] }]);
    }
    list.push([dense, {}, { options: ["-t", "1"] }], [dense, {}, { options: ["--ubatch", "1"] }], [dense, {}, { options: ["--no-repack"] }]);
    list.push([dense, {}, { kv: 8 }], [dense, {}, { kv: 1, options: ["--flash-attn", "off"] }], [moe, {}, { kv: 8 }]);
    return list;
};

// Missed: 10 % in the two generated tokens, between different kernels, is within what inputs and
// rounding explain, and sums over all 31 tokens hide it. On the same CPU library it is found.
const missed = new Set(["generated,1.1,^MUL_MAT:attn_out-7$ x64"]);

// ---- made after the rules ----

const wide = () => model("tiny", "--layers", "6", "--embd", "512", "--heads", "8", "--kv-heads", "8", "--seed", "7"), mixed = () => model("tiny", "--layers", "9", "--types", "q8_0", "--seed", "3");
const moeHalf = () => model("moe", "--layers", "6", "--types", "f16", "--seed", "5"), gemmaHalf = () => model("tiny", "--arch", "gemma3", "--layers", "7", "--types", "f16"), gptBig = () => model("tiny", "--arch", "gpt2", "--layers", "6", "--types", "q8_0");

const plantsSecond = [
    [wide, "stale,0,^MUL_MAT:ffn_gate-2$", "MUL_MAT:ffn_gate-2"],
    [wide, "head,3,^FLASH_ATTN_EXT:.Qcur-4", "FLASH_ATTN_EXT:(Qcur-4)"],
    [wide, "block,2,^MUL_MAT:Kcur-1$", "MUL_MAT:Kcur-1"],
    [wide, "odd,0.9,^MUL_MAT:ffn_out-5$", "MUL_MAT:ffn_out-5"],
    [mixed, "clamp,1.5,^GLU:ffn_swiglu-3$", "GLU:ffn_swiglu-3"],
    [mixed, "coarse,0,^ADD:l_out-6$", "ADD:l_out-6"],
    [mixed, "generated,1.1,^MUL_MAT:attn_out-7$", "MUL_MAT:attn_out-7"],
    [mixed, "shift,0,^SET_ROWS:cache_v_l5", "SET_ROWS:cache_v_l5"],
    [moeHalf, "expert,11,^MUL_MAT_ID:ffn_moe_down-2$", "MUL_MAT_ID:ffn_moe_down-2"],
    [moeHalf, "nan,3,^MUL_MAT:ffn_moe_logits-3$", "MUL_MAT:ffn_moe_logits-3"],
    [gemmaHalf, "turn,0.02,^ROPE:Kcur-4$", "ROPE:Kcur-4"],
    [gemmaHalf, "epsilon,0.05,^MUL:attn_norm-2$", "MUL:attn_norm-2"],
    [gptBig, "offset,0.05,^UNARY:ffn_gelu-3$", "UNARY:ffn_gelu-3"],
    [gptBig, "swap,7,^MUL_MAT:ffn_down-1$", "MUL_MAT:ffn_down-1"],
];

// Made after both halves; no rule was changed for them.
const llama = () => model("tiny", "--layers", "3"), gemma = () => model("tiny", "--arch", "gemma3", "--layers", "3"), gptSmall = () => model("tiny", "--arch", "gpt2", "--layers", "3");
const qwen = () => model("tiny", "--arch", "qwen3moe", "--layers", "3", "--experts", "16", "--experts-used", "4"), moeThree = () => model("moe", "--layers", "3");
const plantsThird = [
    ...[llama, gemma, qwen, moeThree].flatMap((of) => ["Qcur-1", "Kcur-1"].map((name) => [of, `position,0,^ROPE:${name}$`, `ROPE:${name}`])),
    ...[llama, gptSmall, qwen, moeThree].map((of) => [of, "parts,1,^FLASH_ATTN_EXT:.Qcur-1", "FLASH_ATTN_EXT:(Qcur-1)"]),
    ...[llama, gptSmall, gemma].map((of) => [of, "forget,0,^SET_ROWS:cache_v_l1", "SET_ROWS:cache_v_l1"]),
    ...[qwen, moeThree].map((of) => [of, "parts,0,^MUL_MAT_ID:ffn_moe_down-1$", "MUL_MAT_ID:ffn_moe_down-1"]),
    ...[qwen, moeThree].map((of) => [of, "parts,1,^MUL_MAT_ID:ffn_moe_gate-1$", "MUL_MAT_ID:ffn_moe_gate-1"]),
    ...[llama, gemma, qwen, moeThree].map((of) => [of, "channel,5,^MUL_MAT:Kcur-2$", "MUL_MAT:Kcur-2"]),
    ...[llama, gptSmall, moeThree].map((of) => [of, "bias,7,^ADD:ffn_inp-1$", "ADD:ffn_inp-1"]),
];

const cleanSecond = () => {
    const all = variants(), best = all.at(-1), low = all[0], list = [];
    for (const m of [wide, mixed, moeHalf, gemmaHalf, gptBig]) {
        list.push([m, { variant: best }, { variant: low }], [m, { variant: "haswell" }, { variant: low }], [m, {}, { options: ["--flash-attn", "off"] }]);
        list.push([m, {}, { options: ["--ubatch", "7"] }], [m, {}, { options: ["-t", "1", "--ubatch", "1"] }]);
    }
    return list;
};

// A race: one of five runs is wrong.
test("a race in one of five runs", () => {
    const path = wide(), runs = [1, 2, 3, 4, 5].map((i) => recorded(path, { plant: i === 4 ? "flip,9,^MUL_MAT:Kcur-3$" : "", options: ["--seed", String(i), "--temp", "0"] }));
    assert.deepEqual(runs.slice(1).map((b) => first(compared(runs[0], b)).split(" ")[0]), ["", "", "MUL_MAT:Kcur-3", ""]);
});

const scores = [];
function shown(path) { return path.split("/").at(-1).replace(/\.gguf$/, ""); }

function judgePlants(title, plants) {
    test(title, () => {
        const wrong = [], low = variants()[0];
        let n = 0, named = 0;
        for (const [of, plant, expected, more = {}] of plants)
            for (const b of ["haswell", low]) {
                const path = of(), answer = compared(recorded(path, more), recorded(path, { ...more, plant, variant: b })), found = first(answer);
                n++;
                const ok = answer.status === 1 && found.startsWith(`${expected} `);
                named += ok;
                if (ok === missed.has(`${plant} ${b}`)) wrong.push(`${shown(path)} ${plant} on ${b}: ${found || "silent"}`);
                console.log(`# ${ok ? "ok   " : "WRONG"} ${shown(path)} ${plant} haswell/${b}: ${found}, ${answer.wrong_ops} ops`);
            }
        scores.push(`${title}: ${named} of ${n} named at their op`);
        assert.deepEqual(wrong, []);
    });
}

function judgeClean(title, list) {
    test(title, () => {
        const wrong = [];
        for (const [of, a, b] of list) {
            const path = of(), answer = compared(recorded(path, a), recorded(path, b)), found = first(answer);
            const what = `${shown(path)} ${JSON.stringify(a)} ${JSON.stringify(b)}`;
            if (found) wrong.push(`${what}: ${found}`);
            console.log(`# ${found ? "ALARM" : "ok   "} ${what}: ${found || "silent"}, ${answer.outputs_equal} of ${answer.outputs} equal`);
        }
        scores.push(`${title}: ${wrong.length} alarms of ${list.length}`);
        assert.ok(wrong.length * 100 <= list.length, wrong.join("\n"));
    });
}

// ---- Vulkan ----

// The rules are those of the CPU, unchanged. `constant` changes what the host passes to a kernel.
const small = (...options) => () => model("tiny", "--layers", "3", ...options);
const llama3 = small(), gemma3Small = small("--arch", "gemma3"), gpt2Small = small("--arch", "gpt2"), moeSmall = small("--arch", "qwen3moe", "--experts", "4", "--experts-used", "2");
const tied = small("--arch", "gemma3", "--types", "f16"); // the embedding is also the output layer, and in memory twice
const plantsVulkan = [
    [llama3, "fused,0.01,^MUL:attn_norm-1$", "MUL:attn_norm-1"],
    [llama3, "fused,0.01,^MUL:ffn_norm-2$", "MUL:ffn_norm-2"],
    [llama3, "fused,0.02,^MUL:result_norm$", "MUL:result_norm"],
    [gemma3Small, "fused,0.01,^MUL:attn_norm-2$", "MUL:attn_norm-2"],
    [moeSmall, "fused,0.01,^MUL:ffn_norm-1$", "MUL:ffn_norm-1"],
    [llama3, "constant,1.05,^ROPE:Qcur-1$", "ROPE:Qcur-1"],
];

// False for a model that the device's driver does not compute even without ggscope; says so.
function computes(of) {
    const why = engineFailsIn(vulkan, of(), "-p", prompt, "-n", "3", "--ignore-eos", "-ngl", "99");
    if (why) console.log(`# left out: ${shown(of())} on Vulkan: ${why}`);
    return !why;
}

// Missed between CPU and Vulkan: 0.2 % of the length of a norm in gemma3's last layer, whose inputs
// also differ in length. On the same device it is found.
const missedVulkan = new Set(["fused,0.01,^MUL:attn_norm-2$ CPU"]);

onVulkan("planted bugs on Vulkan, at the ends of fused groups; the fused ones are not there without fusion", () => {
    const wrong = [], plants = plantsVulkan.filter(([of]) => computes(of));
    let named = 0;
    for (const [of, plant, expected] of plants)
        for (const [kind, a] of [["CPU", recorded(of())], ["Vulkan", recorded(of(), { vulkan })]]) {
            const found = first(compared(a, recorded(of(), { vulkan, plant }))), ok = found.startsWith(`${expected} `);
            named += ok;
            if (ok === missedVulkan.has(`${plant} ${kind}`)) wrong.push(`${plant} against ${kind}: ${found || "silent"}`);
            console.log(`# ${ok ? "ok   " : "WRONG"} ${shown(of())} ${plant} ${kind}/Vulkan: ${found}`);
        }
    for (const [of, plant] of plants.filter(([, p]) => p.startsWith("fused,"))) {
        const found = first(compared(recorded(of()), recorded(of(), { vulkan, plant, values: ["--values", "--values-unfused"] })));
        if (found) wrong.push(`${plant} unfused: ${found}`);
    }
    scores.push(`planted bugs on Vulkan: ${named} of ${2 * plants.length} named at their op`);
    assert.deepEqual(wrong, []);
});

onVulkan("no bug, CPU and Vulkan", () => {
    const list = [];
    for (const of of [llama3, gemma3Small, gpt2Small, moeSmall, tied].filter(computes))
        for (const b of [{ vulkan }, { vulkan, options: ["--flash-attn", "off"] }, { vulkan, options: ["--ubatch", "8"] }, { vulkan, values: ["--values", "--values-unfused"] }]) {
            const found = first(compared(recorded(of()), recorded(of(), b)));
            list.push(found && `${shown(of())} ${JSON.stringify({ ...b, vulkan: true })}: ${found}`);
            console.log(`# ${found ? "ALARM" : "ok   "} ${shown(of())} ${JSON.stringify({ ...b, vulkan: true })}: ${found || "silent"}`);
        }
    scores.push(`no bug, CPU and Vulkan: ${list.filter(Boolean).length} alarms of ${list.length}`);
    assert.deepEqual(list.filter(Boolean), []);
});

// ---- releases ----

test("no bug, releases 3.6.0 to the newest", { skip: process.arch !== "x64" && `npm has these libraries for x64, this is ${process.arch}` }, () => {
    const versions = ["3.6.0", "3.10.0", "3.18.1", newest], list = [];
    let n = 0;
    for (const of of [small(), small("--types", "f16"), small("--arch", "gpt2"), small("--arch", "gemma3", "--types", "q8_0")]) {
        const made = versions.map((version) => {
            const directory = scratch(`release-${n++}`);
            const { status, stderr } = run(ggscope, ["record", "-q", "--values", "-o", directory, "--", process.execPath, generateScript, release(version), of(), "2", "3", prompt], { env: environment });
            if (status !== 0) console.log(`# ${shown(of())}: ${version} does not run it: ${stderr.trim().split("\n").at(-1)}`);
            return status === 0 ? [version, directory] : undefined;
        }).filter(Boolean);
        for (let i = 0; i < made.length; i++)
            for (let k = i + 1; k < made.length; k++) {
                const answer = compared(made[i][1], made[k][1]), found = first(answer), what = `${shown(of())} ${made[i][0]}/${made[k][0]}`;
                list.push(found && `${what}: ${found}`);
                console.log(`# ${found ? "ALARM" : "ok   "} ${what}: ${found || "silent"}, ${answer.ops} ops, ${answer.outputs_equal} of ${answer.outputs} equal`);
                assert.ok(answer.outputs > 100, what);
            }
    }
    scores.push(`no bug, releases: ${list.filter(Boolean).length} alarms of ${list.length}`);
    assert.ok(list.length > 0 && list.filter(Boolean).length * 100 <= list.length, list.filter(Boolean).join("\n"));
});

// ---- the sketch ----

// Outputs of ops by "node of the graph, token": their sketch, and their elements from a dump.
function outputsOf(directory) {
    const { op_values, op_dumps } = rows(directory, "op_values", "op_dumps"), pieces = new Map(), result = new Map(), order = [...new Set(op_values.map((v) => v.run))];
    for (const d of op_dumps.filter((p) => p.slot < 0)) {
        const key = `${d.run} ${d.node}`, bytes = pieces.get(key) ?? Buffer.alloc(d.total);
        Buffer.from(d.data, "hex").copy(bytes, d.offset);
        pieces.set(key, bytes);
    }
    for (const v of op_values.filter((o) => o.flags === 0 && o.row >= 0)) {
        const bytes = pieces.get(`${v.run} ${v.node}`), at = 4 * v.elements * v.row;
        if (!bytes || bytes.length < at + 4 * v.elements) continue;
        const elements = Array.from({ length: v.elements }, (_, i) => bytes.readFloatLE(at + 4 * i)), rms = Math.hypot(...elements) / Math.sqrt(v.elements);
        const sketch = Buffer.from(v.sketch, "hex");
        // Skips outputs that are not F32 with consecutive tokens.
        if (Math.abs(rms / v.rms - 1) < 1e-5) result.set(`${order.indexOf(v.run)} ${v.node} ${v.row}`, { elements, sketch: Array.from({ length: 16 }, (_, i) => sketch.readFloatLE(4 * i)) });
    }
    return result;
}

test("the sketch against whole tensors: 1 % to 99 % of the estimates are 0.55 to 1.45 of the distance", () => {
    const path = model("tiny", "--layers", "4"), values = ["--values", "--values-dump", "."];
    const a = outputsOf(recorded(path, { values })), b = outputsOf(recorded(path, { values, variant: variants()[0] })), ratios = [];
    const distance = (x, y) => Math.sqrt(x.reduce((sum, v, i) => sum + (v - y[i]) ** 2, 0));
    for (const [key, x] of a) {
        const y = b.get(key), real = y && x.elements.length === y.elements.length ? distance(x.elements, y.elements) : 0;
        // The sketch has 32-bit precision: smaller differences are not visible.
        if (real > 2e-6 * Math.hypot(...x.elements)) ratios.push(distance(x.sketch, y.sketch) / real);
    }
    ratios.sort((x, y) => x - y);
    const at = (share) => ratios[Math.min(ratios.length - 1, Math.floor(share * ratios.length))];
    const line = `sketch: ${ratios.length} pairs, 1 % ${at(0.01).toFixed(2)}, median ${at(0.5).toFixed(2)}, 99 % ${at(0.99).toFixed(2)}`;
    scores.push(line);
    assert.ok(ratios.length > 500 && at(0.01) >= 0.55 && at(0.99) <= 1.45, line);
});

judgePlants("planted bugs, made after both halves", plantsThird);
judgePlants("planted bugs, second half", plantsSecond);
judgeClean("no bug, second half", cleanSecond());
judgePlants("planted bugs, first half", plantsFirst);
judgeClean("no bug, first half", cleanFirst());
test("scores", () => { for (const line of scores) console.log(`# ${line}`); });
