// Generates greedily with node-llama-cpp and prints one line of JSON: input and output.
//     node generate.mjs PACKAGES MODEL THREADS TOKENS [PROMPT [endless]]
// PACKAGES is a folder with node_modules. The package cannot be imported by name, because it is not
// installed here.
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [packages, modelPath, threads, tokens, text = "Once upon a time", endless] = process.argv.slice(2);
const { getLlama } = await import(pathToFileURL(join(resolve(packages), "node_modules", "node-llama-cpp", "dist", "index.js")));

const llama = await getLlama({ gpu: false, build: "never", logLevel: "error", maxThreads: Number(threads) });
const model = await llama.loadModel({ modelPath });
const context = await model.createContext({ contextSize: 256, threads: Number(threads) });
const prompt = model.tokenize(text);
const sequence = context.getSequence();
do {
    const generated = [];
    await sequence.clearHistory();
    for await (const token of sequence.evaluate(prompt, { temperature: 0 })) {
        generated.push(token);
        if (generated.length === Number(tokens)) break;
    }
    console.log(JSON.stringify({ prompt, generated, text: model.detokenize(generated) }));
} while (endless);
await context.dispose();
await model.dispose();
await llama.dispose();
