// Values of ops on a Vulkan device: read at the ends of fused groups, so kernels and logits are
// those of an unobserved run.
import assert from "node:assert/strict";
import { model, output, ggscope, run } from "../lib.mjs";
import { check, fresh, host, jsonLines } from "./traces.mjs";
import { coverage, outputs, recorded, weights } from "./device-values.mjs";
import { env, maybe } from "./vulkan.mjs";

const moe = () => model("tiny", "--arch", "qwen3moe", "--layers", "3", "--experts", "4", "--experts-used", "2");
const dense = () => model("tiny", "--layers", "3");
const gpu = ["-ngl", "99"], prompted = 3; // tokens of the prompt
const positions = (rows) => [...new Set(rows.map((v) => v.position))].sort((a, b) => a - b);

for (const [name, path] of [["dense", dense], ["mixture of experts", moe]]) {
    maybe(`${name}: the logits of an unobserved run, and what every group has written`, () => {
        const directory = recorded(path(), env, gpu), groups = coverage(directory);
        assert.ok(groups.some((g) => g.fused && g.op === "RMS_NORM" && g.last.op !== "RMS_NORM"), "norms are fused");
        // With one token an ADD is fused with the norm behind it, which may overwrite the sum.
        assert.deepEqual(groups.filter((g) => !g.read && !(g.op === "ADD" && g.last.name === "l_out-2")).map((g) => `${g.op} .. ${g.last.name}`), []);
        const device = outputs(directory).filter((v) => !v.onCpu);
        assert.deepEqual(positions(device), [0, 1, 2, 3, 4, 5, 6], "every row is a token's");
        for (const position of positions(device)) assert.ok(device.filter((v) => v.position === position).length > 40);
        if (path === moe) assert.ok(device.some((v) => /topk/.test(v.name)), "the chosen experts, which the group writes besides");
        check(directory);
    });
}

maybe("the values are those of the CPU, but for rounding", () => {
    const rms = (rows) => new Map(rows.filter((v) => v.name !== "" && !/^node_| \(/.test(v.name)).map((v) => [`${v.op}:${v.name} ${v.position}`, v]));
    const onDevice = recorded(dense(), env, gpu), onCpu = recorded(dense(), env, []);
    assert.deepEqual(weights(onDevice), weights(onCpu), "weights are read back from the device");
    const device = rms(outputs(onDevice).filter((v) => !v.onCpu && v.position < prompted)), cpu = rms(outputs(onCpu));
    let compared = 0;
    for (const [key, row] of device) {
        const other = cpu.get(key);
        if (!other) continue;
        compared++;
        assert.ok(row.elements === other.elements && Math.abs(row.rms / other.rms - 1) < 0.05, `${key}: rms ${row.rms} and ${other.rms}`);
    }
    assert.ok(compared > 40 * prompted, `${compared} compared`);
});

maybe("--values-unfused: every op has its own", () => {
    const directory = recorded(dense(), env, gpu, ["--values", "--values-unfused"]), groups = coverage(directory);
    assert.ok(groups.every((g) => !g.fused && g.read));
    assert.ok(outputs(directory).some((v) => !v.onCpu && v.op === "RMS_NORM"));
});

maybe("a program's own eval callback sees what it sees without us", () => {
    const plain = jsonLines(output(host, ["generate", "-t", "2", "-g", "2", "-c", dense()], { env })), directory = fresh();
    const result = run(ggscope, ["record", "-q", "--values", "-o", directory, "--", host, "generate", "-t", "2", "-g", "2", "-c", dense()], { env });
    assert.equal(result.status, 0, result.stderr);
    const volatile = (rows) => rows.map(({ logits, node, op, name, hash }) => ({ logits, node, op, name, hash }));
    assert.deepEqual(volatile(jsonLines(result.stdout)), volatile(plain));
    assert.ok(outputs(directory).length > 100);
});
