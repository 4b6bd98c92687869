// ggscope tune from bad settings, against the best of a full grid of the same settings.
//     node tests/bench/tune-grid.mjs [OPTION...] [MODEL...]     MODEL: a preset of ggscope-engine synth (tinyllama-1.1b, moe)
//         --threads 1,2,4    values to try (1 and powers of two up to all cores)
//         --ubatch 8,32,128,512
//         --prompt N --tokens N    their numbers (64, 8)
//         --rounds N         rounds of the grid (3)
//         --again N          rounds in which the best of the grid, the setting of tune and the start are compared (5)
//
// Every setting of the grid is run once; those within 20 % of the best are run in each further
// round. "runs of a full grid" is what it takes to run all of them in all rounds. The time is that
// of the prompt and all tokens, as the runner tells it, unrecorded. Wanted: the setting of tune is
// within 3 % of the best, in at most a fifth of the runs.
import { availableParallelism } from "node:os";
import { engine, ggscope, model, run } from "../lib.mjs";
import { median } from "./statistics.mjs";

const cores = availableParallelism(), powers = [...new Set([...Array.from({ length: 10 }, (_, i) => 2 ** i).filter((n) => n < cores), cores])];
const options = { threads: powers.join(","), ubatch: "8,32,128,512", prompt: "64", tokens: "8", rounds: "3", again: "5" }, models = [];
for (const args = process.argv.slice(2); args.length > 0;) {
    const word = args.shift();
    if (word.startsWith("--")) options[word.slice(2)] = args.shift();
    else models.push(word);
}
const list = (name) => options[name].split(",");
const text = "one two three four five six seven eight ".repeat(Math.ceil(Number(options.prompt) / 8)).trim();
const base = (path) => [engine, "run", "-m", path, "-p", text, "-n", options.tokens, "--ignore-eos"];

// The settings of the grid, each as words of the command line.
const product = (...sets) => sets.reduce((so, set) => so.flatMap((head) => set.map((one) => [...head, ...one])), [[]]);
const grid = product(list("threads").map((n) => ["-t", n]), list("ubatch").map((n) => ["--ubatch", n]), [["-fa", "on"], ["-fa", "off"]], [[], ["--no-repack"]]);
const bad = ["-t", "1", "--ubatch", list("ubatch")[0], "-fa", "off", "--no-repack"];

let runs = 0;
function time(command) {
    const { status, stderr } = run(command[0], command.slice(1));
    runs++;
    if (status !== 0) throw new Error(stderr);
    const prompt = Number(/^prompt .* tokens +([\d.]+) ms/m.exec(stderr)[1]), [, n, each] = /^generate +(\d+) tokens +([\d.]+) ms/m.exec(stderr);
    return prompt + Number(n) * Number(each);
}

// Words of a shell's command line; the runner's has quotes of one kind.
const words = (line) => [...line.matchAll(/'((?:[^']|'\\'')*)'|(\S+)/g)].map(([, quoted, plain]) => quoted?.replaceAll("'\\''", "'") ?? plain);

for (const name of models.length > 0 ? models : ["tiny"]) {
    const path = model(...name.split(" ")), started = Date.now();
    const { stdout, stderr } = run(ggscope, ["tune", "--json", "-q", "--", ...base(path), ...bad]);
    const tuned = JSON.parse(stdout || "{}"), found = tuned.command ? words(tuned.command) : [...base(path), ...bad], took = (Date.now() - started) / 1000;
    if (!tuned.runs) throw new Error(stderr);

    const times = new Map(grid.map((setting) => [setting, []]));
    for (let round = 0; round < Number(options.rounds); round++) {
        const best = Math.min(...[...times.values()].map((list) => Math.min(...list)));
        const now = grid.filter((setting) => round === 0 || median(times.get(setting)) <= 1.2 * best);
        for (const setting of round % 2 ? now.reverse() : now) times.get(setting).push(time([...base(path), ...setting]));
    }
    const full = grid.length * Number(options.rounds), best = [...times].sort((a, b) => median(a[1]) - median(b[1]))[0][0];

    const sides = { start: [...base(path), ...bad], best: [...base(path), ...best], tuned: found, again: [...base(path), ...best] }, seen = {};
    for (let round = 0; round < Number(options.again); round++)
        for (const side of round % 2 ? Object.keys(sides).reverse() : Object.keys(sides)) (seen[side] ??= []).push(time(sides[side]));
    const of = (side) => median(seen[side]), ratio = (side) => (of(side) / of("best")).toFixed(3);
    console.log(`${name}, ${cores} cores: the start takes ${(of("start") / of("best")).toFixed(2)} times as long as the best of the grid`);
    console.log(`  best   ${best.join(" ")}: ${of("best").toFixed(0)} ms`);
    console.log(`  tuned  ${found.slice(base(path).length).join(" ") || found.join(" ").slice(-60)}: ${ratio("tuned")} of the best (at most 1.03 wanted; the best by itself ${ratio("again")})`);
    console.log(`  runs   tune ${tuned.runs} in ${took.toFixed(0)} s${tuned.busy ? `, ${tuned.busy} of them beside other programs` : ""}; a full grid ${full}: ${(tuned.runs / full).toFixed(2)} (at most 0.20 wanted)`);
}
