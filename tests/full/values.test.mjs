// ggscope diff --values on many comparisons: each planted bug must be named at its op, and comparisons without a bug must be silent.
//
// The rules and thresholds (src/analyze/values/value-limits.c) were made with the first half of both suites. The second half was made
// after that, and the rules were not changed for it.
import { test } from "node:test";
import assert from "node:assert/strict";
import { model } from "../lib.mjs";
import { compared, first, prompt, recorded, variants } from "../engine/plants.mjs";

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

// What is missed, and why: 10 % in the two generated tokens, between different code, is within what inputs and rounding explain, and
// sums over all 31 tokens hide it. On the same CPU library it is found.
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

judgePlants("planted bugs, second half", plantsSecond);
judgeClean("no bug, second half", cleanSecond());
judgePlants("planted bugs, first half", plantsFirst);
judgeClean("no bug, first half", cleanFirst());
test("scores", () => { for (const line of scores) console.log(`# ${line}`); });
