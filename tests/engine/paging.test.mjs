// ggscope paging, compared with simple caches fed with the exported accesses, and with the model's
// file.
import { test } from "node:test";
import assert from "node:assert/strict";
import { existsSync, statSync } from "node:fs";
import { engine, ggscope, model, output, run, scratch } from "../lib.mjs";

const PAGE = 4096, tokens = 5;
function recorded(name, ...options) {
    const directory = scratch(`${name}${options.join("")}`);
    if (!existsSync(directory))
        output(ggscope, ["record", "-q", "-o", directory, "--", engine, "run", "-m", model(name), "-p", "Once upon a time", "-n", String(tokens), "-t", "2", "--ignore-eos", ...options]);
    return directory;
}
const paging = (directory, ...options) => JSON.parse(output(ggscope, ["paging", "--json", ...options, directory]));
const perToken = (budget, policy) => budget.policies[policy].bytes_per_token;

// Pages of the model in the order of ops: [{ page, generate }, ...]. Fields of this table contain
// no commas.
function touches(directory) {
    const [header, ...lines] = output(ggscope, ["export", "-q", directory, "--format", "csv", "--table", "accesses", "-o", "-"]).trim().split("\n");
    const column = Object.fromEntries(header.split(",").map((name, i) => [name, i]));
    const result = [];
    for (const line of lines) {
        const field = line.split(",");
        if (field[column.write] === "1" || field[column.file] === "" || field[column.token] === "") continue;
        const begin = Number(field[column.file_offset]), end = begin + Number(field[column.bytes]);
        for (let page = Math.floor(begin / PAGE); page * PAGE < end; page++) result.push({ page, generate: field[column.token] !== "0" });
    }
    return result;
}

// Pages that a least-recently-used cache of `limit` pages reads while generating. It starts with
// the file read once.
function plainLru(history, filePages, limit) {
    const held = new Set();
    let missed = 0;
    const touch = (page) => {
        const there = held.delete(page);
        held.add(page);
        if (held.size > limit) held.delete(held.values().next().value);
        return there;
    };
    for (let page = 0; page < filePages; page++) touch(page);
    for (const { page, generate } of history) if (!touch(page) && generate) missed++;
    return missed;
}

for (const name of ["tiny", "moe"]) {
    test(`lru is what a plain cache of single pages does (${name})`, () => {
        const directory = recorded(name, "--no-repack"), history = touches(directory);
        const filePages = Math.ceil(statSync(model(name)).size / PAGE);
        const { budgets, generate_steps, touched_bytes, demand_bytes_per_token } = paging(directory, "--policy", "lru", "--memory", "200K,1M,5M,16M,20M,40M,64M,103M,200M");
        assert.equal(generate_steps, tokens - 1);
        assert.equal(touched_bytes, PAGE * new Set(history.map((t) => t.page)).size);
        assert.equal(demand_bytes_per_token, Math.floor(PAGE * history.filter((t) => t.generate).length / generate_steps));
        for (const budget of budgets)
            assert.equal(budget.policies.lru.generate_bytes, PAGE * plainLru(history, filePages, budget.memory_bytes / PAGE), `${budget.memory_bytes}`);
    });

    test(`the optimum is a bound, and more memory never hurts it (${name})`, () => {
        const { budgets, touched_bytes, model_bytes, lru_curve } = paging(recorded(name, "--no-repack"), "--readahead", "128K");
        assert.ok(budgets.length >= 6);
        assert.ok(budgets[0].memory_bytes < touched_bytes / 10 && budgets.at(-1).memory_bytes > touched_bytes);
        for (const [i, budget] of budgets.entries()) {
            for (const policy of ["lru", "linux", "pin-hot"])
                for (const bytes of ["load_bytes", "prompt_bytes", "generate_bytes"])
                    assert.ok(budget.policies[policy][bytes] >= budget.policies.opt[bytes], `${policy} ${bytes} ${budget.memory_bytes}`);
            const linux = budget.policies.linux;
            assert.ok(linux.least_bytes_per_token <= linux.bytes_per_token && linux.bytes_per_token <= linux.most_bytes_per_token);
            if (i > 0) for (const policy of ["lru", "opt"]) assert.ok(perToken(budget, policy) <= perToken(budgets[i - 1], policy), policy);
            if (budget.memory_bytes > 1.1 * model_bytes) for (const policy of ["lru", "linux", "opt"]) assert.equal(perToken(budget, policy), 0, policy);
        }
        assert.equal(lru_curve[0].memory_bytes, 0);
        for (let i = 1; i < lru_curve.length; i++) {
            assert.ok(lru_curve[i].memory_bytes > lru_curve[i - 1].memory_bytes);
            assert.ok(lru_curve[i].bytes_per_token < lru_curve[i - 1].bytes_per_token);
        }
    });
}

test("no policy reads less than the optimum for one token or from a cold cache, and none that reads on demand more than no cache", () => {
    for (const name of ["tiny", "moe"])
        for (const options of [["--token", "1"], ["--cold"], ["--token", "0..2"]]) {
            const answer = paging(recorded(name, "--no-repack"), ...options, "--policy", "lru,pin-hot,stream,opt", "--memory", "2M,4M,6M,9M,12M,15M,20M,24M,32M,48M,64M,80M,96M,103M");
            const none = paging(recorded(name, "--no-repack"), ...options, "--policy", "lru", "--memory", "4K").budgets[0].policies.lru;
            for (const { memory_bytes, policies } of answer.budgets)
                for (const policy of ["lru", "pin-hot", "stream"])
                    for (const bytes of ["prompt_bytes", "generate_bytes"]) {
                        const what = `${name} ${options} ${policy} ${bytes} with ${memory_bytes}: ${policies[policy][bytes]}, opt ${policies.opt[bytes]}, none ${none[bytes]}`;
                        const parts = policy === "stream" ? 0.75 : 1; // it reads no whole pages: of two experts in a page, one
                        assert.ok(policies[policy][bytes] >= parts * policies.opt[bytes], what);
                        assert.ok(policy === "stream" || policies[policy][bytes] <= none[bytes], what);
                    }
        }
});

// Experts are no multiple of a page: neighbours that no op reads share pages with them.
test("streaming without slots reads each chosen expert once, and no other", () => {
    const directory = recorded("moe", "--no-repack"), { budgets: [{ policies: { stream } }] } = paging(directory, "--policy", "stream", "--memory", "24M");
    const sizes = output(ggscope, ["gguf", "--csv", model("moe")]).split("\n").map((line) => line.split(",")).filter(([name]) => /_exps\.weight$/.test(name));
    const [[chosen]] = JSON.parse(output(ggscope, ["sql", "--json", directory, "select count(*) from (select distinct token, layer, expert from experts where token > 0)"])).rows;
    const layer = sizes.reduce((sum, [, , size]) => sum + Number(size), 0) / 24, expected = ((chosen / (tokens - 1)) * layer) / 32;
    assert.ok(stream.streams && Math.abs(stream.bytes_per_token / expected - 1) < 0.02, `${stream.bytes_per_token}, not ${expected}`);
});

test("a prediction whose runs are far apart is not known", () => {
    const directory = recorded("moe", "--no-repack"), options = ["--token", "1", "--readahead", "8M", "--memory", "1M,2M,4M,8M,12M,24M,48M,90M"];
    const { budgets, demand_bytes_per_token } = paging(directory, ...options);
    const text = output(ggscope, ["paging", directory, ...options]);
    for (const { policies: { linux } } of budgets)
        assert.equal(linux.known, linux.most_bytes_per_token <= 4 * linux.least_bytes_per_token + 4 || linux.most_bytes_per_token - linux.least_bytes_per_token <= demand_bytes_per_token);
    assert.equal(text.match(/not known +-/g)?.length ?? 0, budgets.filter((b) => !b.policies.linux.known).length);
});

test("a dense model is a cyclic scan: least recently used has nothing until all fits, pinning has its share", () => {
    const { budgets: [half], demand_bytes_per_token, touched_bytes } = paging(recorded("tiny", "--no-repack"), "--memory", "7M");
    assert.ok(touched_bytes > 2 * half.memory_bytes * 0.6);
    assert.ok(perToken(half, "lru") > 0.9 * demand_bytes_per_token);
    assert.ok(perToken(half, "pin-hot") < 0.65 * demand_bytes_per_token);
    assert.match(output(ggscope, ["paging", recorded("tiny", "--no-repack"), "--memory", "7M"]), /^scan /m);
});

test("experts: a token asks for a part, readahead brings in more", () => {
    const directory = recorded("moe", "--no-repack");
    const wide = paging(directory, "--memory", "24M", "--readahead", "8M"), none = paging(directory, "--memory", "24M", "--readahead", "0");
    assert.ok(wide.demand_bytes_per_token < wide.touched_bytes / 2);
    assert.ok(perToken(wide.budgets[0], "linux") > 2 * wide.demand_bytes_per_token);
    assert.ok(perToken(none.budgets[0], "linux") <= none.demand_bytes_per_token);
    assert.match(output(ggscope, ["paging", directory, "--memory", "24M", "--readahead", "8M"]), /^waste /m);
});

test("pins fit, do not overlap, and are the model's own tensors and experts", () => {
    const map = JSON.parse(output(ggscope, ["gguf", "--json", "--experts", model("moe")]));
    const places = new Map(map.tensors.map((t) => [t.name, t]));
    for (const { memory_bytes, pins } of paging(recorded("moe", "--no-repack"), "--policy", "pin-hot").budgets) {
        assert.ok(pins.bytes + pins.stream_bytes <= memory_bytes);
        let end = 0;
        for (const w of pins.weights) {
            const place = places.get(w.expert === null ? w.name : `${w.name}[${w.expert}]`);
            assert.ok(place, w.name);
            assert.equal(w.file_offset, place.offset_start);
            assert.equal(w.bytes, place.size_bytes);
            assert.ok(w.file_offset >= end);
            end = w.file_offset + w.bytes;
        }
    }
});

test("--suggest: the expression names whole tensors that fit, the ranges lie in the file", () => {
    for (const name of ["tiny", "moe"]) {
        const memory = 6 << 20, text = output(ggscope, ["paging", "--suggest", "--memory", String(memory), recorded(name, "--no-repack")]);
        const [, expression, device] = /^--override-tensor '(.+)=(\w+)'$/m.exec(text);
        assert.equal(device, "CUDA0");
        assert.doesNotMatch(expression, /[,=']/); // these would end the option's value
        const { tensors } = JSON.parse(output(ggscope, ["gguf", "--json", model(name)]));
        const chosen = tensors.filter((t) => new RegExp(expression).test(t.name));
        const bytes = chosen.reduce((sum, t) => sum + t.size_bytes, 0);
        assert.ok(chosen.length > 0 && bytes <= memory && bytes > memory / 2, `${name}: ${chosen.length} tensors, ${bytes}`);
        const ranges = [...text.matchAll(/^(\/.+):(\d+):(\d+)$/gm)].map((m) => ({ file: m[1], offset: Number(m[2]), length: Number(m[3]) }));
        let end = 0, locked = 0;
        for (const r of ranges) {
            assert.equal(r.file, model(name));
            assert.equal(r.offset % PAGE, 0);
            assert.ok(r.offset >= end);
            end = r.offset + r.length;
            locked += r.length;
        }
        assert.ok(ranges.length > 0 && end <= statSync(model(name)).size && locked <= memory, `${locked}`);
    }
});

test("weights that were copied at load count where they came from, and that is said", () => {
    const copied = paging(recorded("tiny", "--no-mmap"), "--policy", "lru"), mapped = paging(recorded("tiny", "--no-repack"), "--policy", "lru");
    assert.ok(copied.copied_bytes > 0);
    assert.equal(mapped.copied_bytes, 0);
    assert.equal(copied.demand_bytes_per_token, mapped.demand_bytes_per_token);
    assert.deepEqual(copied.lru_curve, mapped.lru_curve);
    assert.match(output(ggscope, ["paging", recorded("tiny", "--no-mmap"), "--policy", "lru"]), /^copied /m);
});

test("tokens, pages, a cold start", () => {
    const directory = recorded("tiny", "--no-repack"), one = paging(directory, "--token", "2", "--memory", "1M");
    assert.equal(one.prompt_steps, 0);
    assert.equal(one.generate_steps, 1);
    const prompt = paging(directory, "--token", "0", "--memory", "1M");
    assert.equal(prompt.generate_steps, 0);
    assert.equal(prompt.budgets[0].policies.lru.bytes_per_token, prompt.budgets[0].policies.lru.prompt_bytes);
    const cold = paging(directory, "--cold", "--memory", "1G"), warm = paging(directory, "--memory", "1G");
    assert.equal(warm.budgets[0].policies.lru.prompt_bytes, 0);
    assert.equal(cold.budgets[0].policies.lru.load_bytes, 0);
    assert.ok(cold.budgets[0].policies.lru.prompt_bytes > 0);
    const large = paging(directory, "--page", "64K", "--memory", "1M");
    assert.equal(large.page_bytes, 65536);
    assert.ok(large.touched_bytes >= warm.touched_bytes);
});

test("the text fits 80 columns, is plain where the locale is, and shows what was asked for", () => {
    for (const name of ["tiny", "moe"]) {
        const text = output(ggscope, ["paging", recorded(name, "--no-repack")], { env: { ...process.env, LC_ALL: "C" } });
        for (const line of text.split("\n")) assert.ok(line.length <= 80, line);
        assert.doesNotMatch(text, /[^\x00-\x7f]/);
        assert.match(output(ggscope, ["paging", recorded(name, "--no-repack")], { env: { ...process.env, LC_ALL: "C.UTF-8" } }), /└/);
    }
    const text = output(ggscope, ["paging", recorded("tiny", "--no-repack"), "--policy", "opt,lru"]);
    assert.match(text, /memory +of touched +lru +opt$/m);
    assert.doesNotMatch(text, /pin|readahead/);
});

test("CSV has a row for every policy and size, and the curve", () => {
    const [header, ...rows] = output(ggscope, ["paging", "--csv", "--memory", "1M,4M", recorded("tiny", "--no-repack")]).trim().split("\n");
    assert.equal(header, "policy,memory_bytes,load_bytes,prompt_bytes,generate_bytes,bytes_per_token,miss_ratio");
    for (const policy of ["lru", "linux", "pin-hot", "opt"])
        assert.deepEqual(rows.filter((row) => row.startsWith(`${policy},`)).map((row) => Number(row.split(",")[1])), [1 << 20, 4 << 20]);
    assert.ok(rows.filter((row) => row.startsWith("lru-curve,")).length > 2);
});

test("what cannot be is one sentence", () => {
    const directory = recorded("tiny", "--no-repack");
    for (const options of [["--memory", "much"], ["--memory", ""], ["--memory", "1"], ["--policy", "fifo"], ["--policy", ""], ["--page", "5000"], ["--page", "8M"],
        ["--readahead", "far"], ["--token", "2..1"], ["--json", "--csv"], ["--json", "--suggest"]]) {
        const result = run(ggscope, ["paging", ...options, directory]);
        assert.equal(result.status, 2, options.join(" "));
        assert.equal(result.stdout, "");
        assert.equal(result.stderr.trim().split("\n").length, 2, result.stderr); // with argp's hint
    }
    for (const args of [[scratch("nowhere")], ["--token", "99", directory]]) {
        const result = run(ggscope, ["paging", ...args]);
        assert.equal(result.status, 1);
        assert.match(result.stderr, /^ggscope: [^\n]+\n$/);
    }
});
