// Readers of other projects, installed by lock file.
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as lib from "../lib.mjs";

const here = dirname(fileURLToPath(import.meta.url));

// Their folder.
export const folder = () => lib.installed(here, "export-readers");

// The module of a package by name.
export async function installed(name) {
    return createRequire(join(folder(), "package.json"))(name);
}
