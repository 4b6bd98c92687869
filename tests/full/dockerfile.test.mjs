// The Dockerfile without Docker: its instructions one by one in root directories of Debian 12, its
// base image.
import { test } from "node:test";
import assert from "node:assert/strict";
import { cpSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { output, root, scratch } from "../lib.mjs";
import { debian, unable } from "./debian.mjs";

const instructions = readFileSync(join(root, "Dockerfile"), "utf8").replaceAll("\\\n", " ").split("\n").filter((line) => line.trim() !== "" && !line.startsWith("#")).map((line) => /^([A-Z]+) +(.*)$/.exec(line).slice(1));

test("every step of the Dockerfile succeeds, and its image records", (t) => {
    const why = unable();
    if (why) return t.skip(why);
    // The context is a fresh clone, which has nothing that .dockerignore names.
    const context = scratch("context");
    output("git", ["clone", "-q", root, context]);
    const stages = new Map();
    let stage, entry;
    for (const [instruction, value] of instructions) {
        if (instruction === "FROM") {
            const [, image, , name] = /^(\S+)( AS (\S+))?$/.exec(value);
            assert.equal(image, "debian:12");
            stage = { ...debian(`stage-${stages.size}`), directory: "/" };
            stages.set(name ?? "last", stage);
        } else if (instruction === "RUN") stage.good(value, stage.directory);
        else if (instruction === "WORKDIR") mkdirSync(join(stage.folder, (stage.directory = value)), { recursive: true });
        else if (instruction === "COPY") {
            const [, , from, source, to] = /^(--from=(\S+) )?(\S+) (\S+)$/.exec(value);
            if (from === undefined) cpSync(join(context, source), join(stage.folder, to), { recursive: true });
            else output("sh", ["-c", `cp -a ${stages.get(from).folder}${source} '${stage.folder}${to}'`]);
        } else if (instruction === "ENTRYPOINT") entry = JSON.parse(value);
        else assert.fail(`${instruction}: this test does not know it`);
    }
    assert.deepEqual(entry, ["ggscope"]);
    const image = stages.get("last");
    assert.match(image.good("ggscope version"), /^ggscope \d+\.\d+\.\d+ \([0-9a-f]{7,}\)\n[^]*\nengine +\/usr\/lib\/ggscope\/engine\n$/);
    image.good("ggscope-engine synth tiny -o tiny.gguf && ggscope run -q -m tiny.gguf -p Hello -n 3 -t 1 -o made", "/tmp");
    assert.match(image.good("ggscope made", "/tmp"), /^tokens +3 steps/);
    assert.match(image.good("ggscope check made", "/tmp"), /^ok /);
    assert.equal(image.run("ls /tmp/*.deb /ggscope").stdout, "", "nothing of the build is left in the image");
});
