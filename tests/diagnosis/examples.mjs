// The examples of docs/explain.md: the output of each rule for the figures in
// tests/unit/test-explain.c, and the findings that no planted problem shows. `node
// tests/diagnosis/examples.mjs` writes them into the page.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build, output, root } from "../lib.mjs";
import { first } from "./first.mjs";
import { last } from "./last.mjs";
import { rest } from "./middle.mjs";
import { more } from "./more.mjs";

const page = join(root, "docs", "explain.md");
const [begin, end] = ["## Examples\n", "## Does it help?\n"];

function wrap(text, indent, width) {
    const lines = [indent];
    for (const word of text.split(" ")) {
        const last = lines.at(-1);
        if (last.length > indent.length && last.length + 1 + word.length > width) lines.push(indent + word);
        else lines[lines.length - 1] = last === indent ? indent + word : `${last} ${word}`;
    }
    return lines.join("\n");
}

const bounds = { load: "the load", prompt: "the prompt", generation: "generating", tokens: "the token time" };

function example([name, title, part, gain, bytes, evidence, remedy]) {
    const much = Number(bytes) > 0 ? `saves ${(Number(bytes) / 2 ** 20).toFixed(0)} MiB` : Number(gain) > 0 ? `up to ${(100 * Number(gain)).toFixed(0)} % of ${bounds[part]}` : "gain not known";
    return [`    ${name}`, wrap(`${title}: ${much}`, "      ", 98), wrap(evidence, "      ", 98), wrap(`try ${remedy}`, "      ", 98)].join("\n");
}

// A plant without a directory records nothing on any machine.
function unplanted(names) {
    const made = new Set([...first, ...rest, ...last, ...more].filter((plant) => plant.make.length > 0).map((plant) => plant.finding));
    return names.filter((name) => !made.has(name));
}

export function examples() {
    const rows = output(join(build, "tests", "test-explain"), ["examples"]).trimEnd().split("\n").map((line) => line.split("\t"));
    const none = unplanted(rows.map(([name]) => name));
    return [
        begin,
        wrap("The output of each rule for the figures of its unit test (`build/tests/test-explain examples`), of a small model on two cores.", "", 100), "",
        rows.map(example).join("\n\n"), "",
        wrap(`\`tests/diagnosis\` plants a problem for each finding but ${none.map((name) => `\`${name}\``).join(", ")}. These need what not every machine has, and unit tests alone cover their rules.`, "", 100), "", "",
    ].join("\n");
}

// The examples in the page.
export function written() {
    const text = readFileSync(page, "utf8");
    return text.slice(text.indexOf(begin), text.indexOf(end));
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) writeFileSync(page, readFileSync(page, "utf8").replace(written(), () => examples()));
