// Programs of llama.cpp that draft, look ahead and serve in parallel: requests and tokens are those
// that each prints.
import { test } from "node:test";
import assert from "node:assert/strict";
import { ggscope, model, output, run, scratch } from "../lib.mjs";
import { buildProgram, unbuildable } from "./llama-server.mjs";

const reason = unbuildable(), skip = reason === "" ? false : reason;
const target = model("tiny"), small = model("tiny", "--layers", "2");
const prompt = "Once upon a time there was a small fox who lived in a hole";
const usual = ["-p", prompt, "-n", "24", "-t", "1", "-tb", "1", "-c", "512", "--temp", "0"];
const sum = (list, key) => list.reduce((all, row) => all + row[key], 0);

let n = 0;
// The requests in a recording of the program, and a number that the program prints after a word.
function recorded(name, args) {
    const directory = scratch(`program-${n++}`), result = run(ggscope, ["record", "-q", "-o", directory, "--", buildProgram(name), ...args], { env: { ...process.env, GGSCOPE_ENGINE: "" }, timeout: 600_000 });
    assert.equal(result.status, 0, result.stderr.slice(-2000));
    const text = result.stdout + result.stderr, { requests } = JSON.parse(output(ggscope, ["requests", "--json", directory]));
    const said = (word) => Number(text.match(new RegExp(`${word}\\s*[=:]?\\s+(\\d+)`))[1]);
    return { text, said, requests: requests.filter((r) => r.kind !== "warmup" && r.kind !== "draft"), drafts: requests.filter((r) => r.kind === "draft") };
}

const drafting = {
    "llama-speculative-simple": ["-m", target, "-md", small, ...usual, "--spec-type", "draft-simple", "--spec-draft-n-max", "4", "--spec-draft-p-min", "0"],
    "llama-speculative": ["-m", target, "-md", target, ...usual, "--spec-draft-n-max", "4"],
    "llama-lookup": ["-m", target, ...usual, "--spec-draft-n-max", "4"],
    "llama-lookahead": ["-m", small, "-p", prompt, "-n", "12", "-t", "1", "-c", "2048", "--temp", "0", "-np", "32"],
};
for (const [name, args] of Object.entries(drafting)) {
    test(`${name}: one request, with the tokens that the program counts`, { skip }, () => {
        const { said, requests } = recorded(name, args);
        assert.equal(requests.length, 1);
        // llama-lookahead counts from the second token on: those that it feeds back.
        const counted = requests[0][name === "llama-lookahead" ? "decoded_tokens" : "generated_tokens"];
        assert.deepEqual([requests[0].prompt_tokens, counted], [said("encoded"), said("n_predict")]);
        assert.equal(requests[0].accepted_tokens, said("n_accept"));
        if (name !== "llama-lookahead") assert.equal(requests[0].accepted_tokens + requests[0].rejected_tokens + requests[0].unsettled_tokens, said("n_drafted"));
    });
}

test("llama-parallel: as many requests, prompt tokens and generated tokens as it counts", { skip }, () => {
    const { said, requests } = recorded("llama-parallel", ["-m", small, "-n", "6", "-np", "3", "-ns", "6", "-t", "1", "-c", "2048", "--temp", "0"]);
    assert.equal(requests.length, 6);
    assert.equal(sum(requests, "prompt_tokens"), said("Total prompt tokens:"));
    assert.equal(sum(requests, "decoded_tokens"), said("Total gen tokens:")); // the last token of each is sampled and dropped
});

test("llama-batched-bench: prompts and tokens of every row of its table", { skip }, () => {
    const { text, requests } = recorded("llama-batched-bench", ["-m", small, "-npp", "8,16", "-ntg", "4", "-npl", "1,2", "-t", "1", "-c", "2048"]);
    const rows = [...text.matchAll(/^\|\s*(\d+) \|\s*(\d+) \|\s*(\d+) \|/gm)].map((row) => row.slice(1).map(Number));
    assert.equal(rows.length, 4);
    assert.deepEqual(requests.map((r) => [r.prompt_tokens, r.decoded_tokens]), rows.flatMap(([pp, tg, pl]) => Array(pl).fill([pp, tg])));
});

for (const options of [["-p", "16,1", "-n", "4,1", "-r", "3"], ["-p", "64", "-b", "16", "-ub", "8", "-n", "0", "-pg", "16,4", "-r", "2"]]) {
    for (const warmup of [[], ["--no-warmup"]]) {
        test(`llama-bench ${[...options, ...warmup].join(" ")}: prompts and tokens of every repetition of its table, warm-ups apart`, { skip }, () => {
            const { text, requests } = recorded("llama-bench", ["-m", small, "-t", "1", "-o", "jsonl", ...options, ...warmup]);
            const rows = text.split("\n").filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));
            const one = ({ n_prompt: prompt, n_gen: generated }) => (prompt === 1 && generated === 0 ? [0, 1] : [prompt, generated]); // a prompt of one token is a generated token
            assert.deepEqual(requests.map((r) => [r.prompt_tokens, r.decoded_tokens]), rows.flatMap((row) => row.samples_ns.map(() => one(row))));
        });
    }
}
