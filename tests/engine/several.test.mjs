// Several recordings side by side: ggscope diff A B C, ggscope experts A B C.
import { test } from "node:test";
import assert from "node:assert/strict";
import { ggscope, model, output, run, scratch } from "../lib.mjs";
import { generate } from "./traces.mjs";

const json = (...args) => JSON.parse(output(ggscope, [...args, "--json"]));
function recorded(name, file, prompt, ...options) {
    const directory = scratch(name);
    output(ggscope, ["run", "-q", "--ignore-eos", "-m", file, "-p", prompt, "-n", "6", "-t", "1", "-o", directory, ...options]);
    return directory;
}

test("diff of more than two: the conditions that differ, and the noise of repeats", () => {
    const tiny = model("tiny"), one = recorded("one", tiny, "Hello"), again = recorded("again", tiny, "Hello"), other = recorded("other", tiny, "Hello", "--cold"), longer = recorded("longer", tiny, "Hello", "-c", "512");
    const answer = json("diff", one, again, other, longer);
    assert.deepEqual(answer.recordings.map(({ label, repeats }) => label + repeats), ["AA", "BA", "CC", "DD"]);
    assert.deepEqual(answer.conditions.map(({ condition }) => condition), ["command", "cold start"]);
    assert.deepEqual(answer.conditions[1].values.map((value) => value !== "none"), [false, false, true, false]);
    assert.match(answer.conditions[0].values[3], /512/);
    for (const [i, directory] of [one, again, other, longer].entries()) {
        const stats = json("stats", directory), value = (name) => answer.figures.find(({ figure }) => figure === name).values[i];
        assert.equal(value("bytes_read"), stats.bytes_read);
        assert.equal(value("ops"), stats.ops);
    }
    // The noise of a figure comes from A and B; it differs if the means of groups are further
    // apart.
    for (const { figure, values: [a, b, c, d], noise, differs } of answer.figures) {
        if (a === null) continue;
        const mean = (a + b) / 2, range = Math.max(mean, c, d) - Math.min(mean, c, d);
        assert.ok(Math.abs(noise - (mean === 0 ? 0 : Math.abs(a - b) / mean)) < 1e-9, figure);
        assert.equal(differs, range > Math.abs(a - b), figure);
    }
    assert.match(output(ggscope, ["diff", one, again, other]), /^A {2}.*one\nB {2}.*again {2}\(repeats A\)\nC {2}.*other\n\ndiffers in +A +B +C\ncold start +none +none +\S+ MiB\n\n.*noise/);
    assert.match(output(ggscope, ["diff", one, other, longer]), /^tokens_per_s .* no repeats *$/m);
    assert.match(output(ggscope, ["diff", "--markdown", one, again, other]), /^\| cold start \| none \| none \| /m);
    assert.equal(run(ggscope, ["diff", one, again, other, "--fail-if", "ops != 0"]).status, 2);
    const many = run(ggscope, ["diff", ...Array(13).fill(one)]);
    assert.equal(many.status, 2);
    assert.match(many.stderr, /^ggscope diff: it takes at most 12 arguments, not 13: A B \[C\.\.\.\]\n/);
    assert.equal(run(ggscope, ["diff", ...Array(12).fill(one)]).status, 0);
});

test("experts over domains agree with the table of choices", () => {
    const moe = model("moe"), domains = ["Once upon a time there was", "int main(void) { return", "1 + 1 = 2, 2 + 2 ="].map((prompt, i) => recorded(`domain-${i}`, moe, prompt));
    const answer = json("experts", ...domains);
    const shares = domains.map((directory) => {
        const layers = new Map();
        for (const [layer, expert, n] of json("sql", directory, "SELECT e.layer, e.expert, count(*) FROM experts e GROUP BY 1, 2").rows) layers.set(layer, [...(layers.get(layer) ?? []), [expert, n]]);
        return (layer, expert) => {
            const rows = layers.get(layer) ?? [], all = rows.reduce((sum, [, n]) => sum + n, 0);
            return (rows.find(([x]) => x === expert)?.[1] ?? 0) / all;
        };
    });
    const near = (a, b, what) => assert.ok(Math.abs(a - b) < 1e-9, `${what}: ${a} is ${b}`);
    const found = [], overlaps = new Map();
    for (const { layer, experts, domains: rows, entropy, overlap, specialists } of answer.by_layer) {
        const p = shares.map((share) => Array.from({ length: experts }, (_, x) => share(layer, x)));
        for (const [d, row] of p.entries()) {
            row.forEach((value, x) => near(rows[d].shares[x], value, `share of ${x} in layer ${layer}`));
            near(entropy[d], -row.reduce((sum, value) => sum + (value > 0 ? value * Math.log2(value) : 0), 0), `entropy of ${d}`);
        }
        let sum = 0;
        for (const [a, b] of [[0, 1], [0, 2], [1, 2]]) {
            const common = p[a].reduce((all, value, x) => all + Math.min(value, p[b][x]), 0);
            overlaps.set(`${a}${b}`, (overlaps.get(`${a}${b}`) ?? 0) + common / answer.by_layer.length);
            sum += common / 3;
        }
        near(overlap, sum, `overlap in layer ${layer}`);
        const here = Array.from({ length: experts }, (_, x) => p.map((row) => row[x]).sort((a, b) => b - a)).filter(([most, next]) => most >= 2 * next && most * experts > 1).length;
        assert.equal(specialists, here);
        found.push(here);
    }
    assert.equal(answer.specialists.length, found.reduce((a, b) => a + b));
    assert.equal(answer.domains.reduce((sum, domain) => sum + domain.specialists, 0), answer.specialists.length);
    for (const { a, b, overlap } of answer.pairs) near(overlap, overlaps.get(`${a}${b}`), `overlap of ${a} and ${b}`);
    assert.ok(answer.pairs.every(({ overlap }) => overlap > 0 && overlap < 1));
    // A domain and itself.
    const same = json("experts", domains[0], domains[0]);
    near(same.pairs[0].overlap, 1, "itself");
    assert.equal(same.specialists.length, 0);
    const text = output(ggscope, ["experts", ...domains]);
    assert.match(text, /^ +domain +tokens +entropy +specialists +with A +with B +with C\nA +domain-0 .* 100 % +\d+ % +\d+ %\n/);
    assert.match(text, /^share of a layer's choices that falls on each expert/m);
    const dense = run(ggscope, ["experts", domains[0], generate(model("tiny"), "-n", "4", "-t", "1").directory]);
    assert.equal(dense.status, 1);
    assert.match(dense.stderr, /^ggscope: recording 2 has no choices of experts: name recordings of models with experts\n$/);
});
