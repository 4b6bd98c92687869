// Problems of devices, planted on Mesa's software one. Compiling its shaders takes a minute: once,
// as they are kept, and each time without the cache.
import { model, output } from "../lib.mjs";
import { record, runner, small } from "./plant.mjs";

async function on(directory, path, ...options) {
    const { env } = await import("../engine/vulkan.mjs"); // looks for a device
    if (typeof env === "string") return { skip: env };
    const command = [...runner(path, ...options), "-p", "Once upon", "-n", "6"];
    output(command[0], command.slice(1), { env }); // compiles shaders
    record(directory, command, { env });
    return { env };
}

export const layers = (directory) => on(directory, small(), "-ngl", "99");
// The experts are large enough to take a tenth of the time beside a device that is slow itself.
export const experts = (directory) => on(directory, model("moe", "--layers", "4", "--ff", "4096", "--experts", "16", "--experts-used", "16"), "-ngl", "99", "-ot", "exps=CPU,^output=CPU");

export async function shaders(directory) {
    const { env } = await import("../engine/vulkan.mjs");
    if (typeof env === "string") return { skip: env };
    record(directory, [...runner(small(), "-ngl", "99"), "-p", "Once upon", "-n", "6"], { env: { ...env, MESA_SHADER_CACHE_DISABLE: "true" } });
    return { env };
}
