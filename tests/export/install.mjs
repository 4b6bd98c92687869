// The readers that others wrote, installed by lock file below build/; the source tree stays as it is.
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { output, root } from "../lib.mjs";

const here = dirname(fileURLToPath(import.meta.url));

// The module of a package, by name.
export async function installed(name) {
    const folder = join(root, "build", "export-readers");
    const mark = join(folder, "installed-lock.json");
    const wanted = readFileSync(join(here, "package-lock.json"), "utf8");
    if (!existsSync(mark) || readFileSync(mark, "utf8") !== wanted) {
        mkdirSync(folder, { recursive: true });
        for (const file of ["package.json", "package-lock.json"]) copyFileSync(join(here, file), join(folder, file));
        output("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], { cwd: folder });
        writeFileSync(mark, wanted);
    }
    return createRequire(join(folder, "package.json"))(name);
}
