// Debian's packages of llama.cpp and whisper.cpp, with all of their backends, newer than the pinned
// engine: their recordings must have the numbers that the programs print.
import { test } from "node:test";
import assert from "node:assert/strict";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build, model, output, root } from "../lib.mjs";
import { debian, unable } from "./debian.mjs";
import { whisperModel } from "./whisper-model.mjs";

const version = /project\(ggscope VERSION ([0-9.]+)/.exec(readFileSync(join(root, "CMakeLists.txt"), "utf8"))[1];
const why = unable("testing") || (process.arch === "x64" ? "" : "the packages are those of amd64");
const packages = "llama.cpp-tools llama.cpp-tools-extra llama.cpp-examples whisper.cpp-tools libggml0-backend-rpc libggml0-backend-blas curl";
let there;

function set() {
    if (there) return there;
    output("make", ["-s", "deb"], { cwd: root, timeout: 900_000 });
    there = debian("debian-testing", "testing");
    const inside = (path) => join(there.folder, "tmp", path);
    copyFileSync(join(build, `ggscope_${version}_amd64.deb`), inside("ggscope.deb"));
    there.good(`apt-get update -qq && apt-get install -y -qq --no-install-recommends ${packages} /tmp/ggscope.deb`);
    copyFileSync(model("tiny"), inside("tiny.gguf"));
    copyFileSync(model("tiny", "--layers", "3"), inside("draft.gguf"));
    writeFileSync(inside("words.txt"), Array.from({ length: 800 }, (_, i) => i + 1).join(" "));
    whisperModel(inside("whisper.bin"), inside("sound.wav"));
    return there;
}
const maybe = (name, body) => test(name, { skip: why || false }, () => body(set()));

// Records a program; returns the answers of the verbs and the program's own output.
function record(name, command, { status = 0 } = {}) {
    const { run, good } = there, result = run(`ggscope record -q -o ${name} -- ${command}`, "/tmp");
    assert.equal(result.status, status, `${command}: ${result.stderr.slice(-2000)}`);
    assert.doesNotMatch(result.stderr, /not in this release/, "what is said to be missing is there");
    const json = (words) => JSON.parse(good(`ggscope ${words} ${name} --json`, "/tmp"));
    const check = json("check");
    assert.deepEqual(check.checks.filter((c) => c.status === "failed"), [], command);
    return { requests: json("requests").requests, stats: json("stats"), check, text: result.stdout + result.stderr };
}
const counts = (requests) => requests.map((r) => [r.kind, r.prompt_tokens, r.cached_tokens, r.generated_tokens]);

maybe("doctor finds backends where the distribution puts them", ({ run }) => {
    for (const program of ["llama-server", "whisper-cli"]) {
        const { stdout } = run(`ggscope doctor ${program}`, "/tmp");
        assert.doesNotMatch(stdout, /^FAIL/m);
        assert.match(stdout, /ggml_barrier: in libggml-cpu/);
        assert.match(stdout, /libggml-rpc\.so: whole graph runs/);
    }
});

maybe("a completion: prompt, tokens and warm-up", () => {
    const { requests, stats } = record("completion", "llama-completion -m tiny.gguf -p 'Once upon a time' -n 8 -t 2 -no-cnv --temp 0");
    assert.deepEqual(counts(requests), [["warmup", 2, 0, 0], ["completion", 5, 0, 8]]);
    assert.equal(stats.ops_unseen ?? 0, 0);
});

maybe("embeddings, and the scoring of a text", () => {
    const { requests } = record("embedding", "llama-embedding -m tiny.gguf -p 'Hello world' -t 2 --pooling mean");
    assert.deepEqual(counts(requests), [["warmup", 2, 0, 0], ["embedding", 3, 0, 0]]);
    const scored = record("scoring", "llama-perplexity -m tiny.gguf -f words.txt -t 2 -c 128 -b 128 --chunks 2");
    assert.deepEqual(counts(scored.requests), [["warmup", 2, 0, 0], ["scoring", 128, 0, 0], ["scoring", 128, 0, 0]]);
});

maybe("clients that share a batch", () => {
    const { requests, text } = record("parallel", "llama-parallel -m tiny.gguf -np 3 -ns 5 -t 2 -n 12 -c 2048");
    const served = requests.filter((r) => r.kind !== "warmup"); // the program's last lines are sometimes lost by its own log
    assert.equal(served.length, 5);
    const prompts = [...text.matchAll(/prompt = +(\d+), started decoding/g)].map((m) => Number(m[1]));
    assert.deepEqual(served.map((r) => r.prompt_tokens).sort(), prompts.sort());
});

maybe("a server with three slots: what it answers is what is counted", ({ good }) => {
    const script = `ggscope record -q -o server -- llama-server -m tiny.gguf -np 3 -c 3072 -t 2 --port 8177 >server.out 2>server.err & pid=$!
        for i in $(seq 120); do curl -s localhost:8177/health | grep -q ok && break; sleep 0.5; done
        ask() { curl -s localhost:8177/completion -d "{\\"prompt\\":\\"$1\\",\\"n_predict\\":$2,\\"temperature\\":0,\\"cache_prompt\\":true}" >answer-$3; }
        ask "Once upon a time there was" 8 1 & a=$!; ask "The quick brown fox" 12 2 & b=$!; ask Hello 6 3 & c=$!; wait $a $b $c
        ask "Once upon a time there was a king" 5 4
        kill -TERM $pid; wait $pid; cat answer-*`;
    const answers = good(`cat >serve.sh <<'END'\n${script}\nEND\nbash serve.sh`, "/tmp");
    const told = [...answers.matchAll(/"timings":(\{[^}]*\})/g)].map((m) => JSON.parse(m[1]));
    assert.equal(told.length, 4);
    const { requests } = JSON.parse(good("ggscope requests server --json", "/tmp")), served = requests.filter((r) => r.kind !== "warmup");
    const sorted = (rows) => rows.map(String).sort();
    assert.deepEqual(sorted(served.map((r) => [r.prompt_tokens, r.cached_tokens, r.generated_tokens])), sorted(told.map((t) => [t.prompt_n, t.cache_n, t.predicted_n])));
});

maybe("a draft model is no request", () => {
    const { requests, text } = record("draft", "llama-speculative -m tiny.gguf -md draft.gguf -p 'Once upon a time' -n 16 -t 2 --temp 0");
    const served = requests.filter((r) => r.kind === "completion"), drafts = requests.filter((r) => r.kind === "draft");
    assert.deepEqual([served.length, drafts.length], [1, 1]);
    const said = (name) => Number(new RegExp(`${name} += +(\\d+)`).exec(text)[1]), { accepted_tokens, rejected_tokens, unsettled_tokens } = served[0];
    assert.deepEqual([accepted_tokens + rejected_tokens + unsettled_tokens, accepted_tokens], [said("n_drafted"), said("n_accept")]);
});

maybe("whisper.cpp: weights have their place in its own file format", ({ good, folder }) => {
    record("whisper", "whisper-cli -m whisper.bin -f sound.wav -t 2 -bs 1 -bo 1 -nf -ng");
    const file = readFileSync(join(folder, "tmp/whisper.bin"));
    const known = JSON.parse(good("ggscope sql --json whisper 'SELECT DISTINCT origin_offset, bytes FROM tensors WHERE origin_file = 1 AND view IS NULL AND bytes > 16384'", "/tmp")).rows;
    const truth = new Map(["decoder.token_embedding.weight", "decoder.positional_embedding", "encoder.blocks.0.mlp.0.weight"].map((name) => [file.indexOf(name) + name.length, name]));
    for (const [offset, name] of truth) assert.ok(known.some(([at]) => at === offset), `${name} at ${offset}: ${JSON.stringify(known)}`);
});

maybe("a client and an RPC server, joined", ({ good }) => {
    const script = `ggscope record -q -o rpc-server -- /usr/libexec/*/llama/bin/ggml-rpc-server -H 127.0.0.1 -p 50177 -t 2 >/dev/null 2>&1 & pid=$!
        until (exec 3<>/dev/tcp/127.0.0.1/50177) 2>/dev/null; do kill -0 $pid || exit 1; sleep 0.2; done
        ggscope record -q -o rpc-client -- llama-completion -m draft.gguf -p 'Once upon a time' -n 4 -t 2 -no-cnv --temp 0 --rpc 127.0.0.1:50177 -ngl 99 >/dev/null 2>rpc.err || exit 1
        kill -TERM $pid; wait $pid; ggscope join rpc-client rpc-server -o rpc`;
    good(`cat >rpc.sh <<'END'\n${script}\nEND\nbash rpc.sh`, "/tmp");
    const stats = JSON.parse(good("ggscope stats rpc --json", "/tmp"));
    assert.ok(stats.ops > 200, String(stats.ops));
    assert.match(good("ggscope stats rpc", "/tmp"), /(\d+) of \1 graph runs are in both/);
});
