// Two concurrent sequences with node-llama-cpp, one of which is then cleared and reused. Prints one
// line of JSON: prompt tokens and generated tokens of each request.
//     node sequences.mjs PACKAGES MODEL
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [packages, modelPath] = process.argv.slice(2);
const { getLlama } = await import(pathToFileURL(join(resolve(packages), "node_modules", "node-llama-cpp", "dist", "index.js")));

const llama = await getLlama({ gpu: false, build: "never", logLevel: "error", maxThreads: 1 });
const model = await llama.loadModel({ modelPath });
const context = await model.createContext({ contextSize: 256, threads: 1, sequences: 2 });
const sequences = [context.getSequence(), context.getSequence()];

async function generate(sequence, text, count) {
    const prompt = model.tokenize(text);
    let generated = 0;
    for await (const _ of sequence.evaluate(prompt, { temperature: 0 })) if (++generated === count) break;
    return [prompt.length, generated];
}

const both = await Promise.all([generate(sequences[0], "Once upon a time", 5), generate(sequences[1], "The quick brown fox jumps", 7)]);
await sequences[0].clearHistory();
console.log(JSON.stringify([...both, await generate(sequences[0], "Another story begins here", 4)]));
await context.dispose();
await model.dispose();
await llama.dispose();
