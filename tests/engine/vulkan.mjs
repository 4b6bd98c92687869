// Shared by the tests on a Vulkan device: Mesa's software device with the stock engine that
// engine/vulkan pins. Compiling its shaders takes about a minute, once; they are kept in build/.
import { test } from "node:test";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { engine, installed, model, root, run } from "../lib.mjs";
import { engineOf, variant } from "../variant.mjs";

const drivers = "/usr/share/vulkan/icd.d";
const driver = existsSync(drivers) && readdirSync(drivers).find((name) => /^lvp_icd.*\.json$/.test(name));
const cache = join(root, "build", "shader-cache");

// The reason if there is no device; else the environment in which the engine finds it.
function look() {
    if (process.arch !== "x64") return "the pinned engine with Vulkan is for x86-64";
    if (!driver) return "no software Vulkan device (Debian: mesa-vulkan-drivers)";
    const whole = join(installed(join(root, "engine", "vulkan"), "engine-vulkan"), "node_modules", "@node-llama-cpp", "linux-x64-vulkan", "bins", "linux-x64-vulkan");
    const folder = engineOf(variant, whole);
    mkdirSync(cache, { recursive: true });
    const path = join(drivers, driver);
    const env = { ...process.env, GGSCOPE_ENGINE: folder, GGML_VK_VISIBLE_DEVICES: "0", VK_DRIVER_FILES: path, VK_ICD_FILENAMES: path, MESA_SHADER_CACHE_DIR: cache };
    const probe = run(engine, ["run", "-m", model("tiny"), "-p", "x", "-n", "1", "--device", "none,"], { env });
    return /it has .*Vulkan0/.test(probe.stderr) ? env : `the engine finds no Vulkan device: ${probe.stderr.trim()}`;
}
export const env = look();
const skip = typeof env === "string" ? env : false;
export const maybe = (name, body) => test(name, { skip }, body);
