// Opens a report without a browser: extracts its engine from the page and asks it directly.
//     const report = await openReport("report.html");
//     await report.ask("/api/x/0/summary") -> { status, json, body }
import { readFileSync } from "node:fs";
import vm from "node:vm";

export function parts(html) {
    const all = (pattern) => [...html.matchAll(pattern)].map((match) => match[1]);
    return {
        module: all(/<script type="text\/plain" id="ggscope-module">([^<]*)<\/script>/g)[0],
        engine: all(/<script type="text\/plain" id="ggscope-engine">([^]*?)<\/script>/g)[0],
        experiments: all(/<script type="application\/json" class="ggscope-experiment">([^<]*)<\/script>/g).map((text) => JSON.parse(text)),
        traces: all(/<script type="text\/plain" class="ggscope-trace">([^<]*)<\/script>/g),
    };
}

export async function openReport(file) {
    const { module, engine, experiments, traces } = parts(readFileSync(file, "utf8"));
    let told;
    const heard = [];
    const scope = { onmessage: null, postMessage: (message) => (message.progress === undefined ? told(message) : heard.push(message.progress)) };
    vm.runInNewContext(engine, { self: scope, atob, Blob, DecompressionStream, Error, Response, performance, TextEncoder, Uint8Array, WebAssembly });
    const send = async (question) => {
        const answer = new Promise((resolve) => (told = resolve));
        scope.onmessage({ data: { number: 1, ...question } });
        const message = await answer;
        if (message.problem !== undefined) throw new Error(message.problem);
        return message.reply;
    };
    await send({ start: module });
    for (const [i, about] of experiments.entries()) await send({ open: { ...about, trace: traces[i] } });
    return {
        experiments,
        heard, // progress of the current question
        async ask(path) {
            const { status, json, body } = await send({ ask: path });
            return { status, json, body: Buffer.from(body) };
        },
        open: (about, trace) => send({ open: { files: [], state: "complete", ...about, trace } }),
    };
}
