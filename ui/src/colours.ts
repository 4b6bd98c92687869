// Colours: Okabe-Ito per family of ops, always with a pattern and a name; cividis on a log scale
// for heat. All themed colours are CSS variables. Canvases read them through theme(), which changes
// with the system's theme.
import { signal } from "@preact/signals";

export type Pattern = "solid" | "diagonal" | "dots" | "horizontal" | "vertical" | "cross" | "back" | "none";

export interface Family {
    name: string;
    colour: string;
    ink: string; // readable on the colour, 4.5:1
    pattern: Pattern;
}

export const families: readonly Family[] = [
    { name: "matrix product", colour: "#0072b2", ink: "#ffffff", pattern: "solid" },
    { name: "attention", colour: "#e69f00", ink: "#000000", pattern: "diagonal" },
    { name: "norm", colour: "#009e73", ink: "#000000", pattern: "dots" },
    { name: "element-wise", colour: "#56b4e9", ink: "#000000", pattern: "horizontal" },
    { name: "rows and copies", colour: "#d55e00", ink: "#000000", pattern: "vertical" },
    { name: "routing", colour: "#cc79a7", ink: "#000000", pattern: "cross" },
    { name: "recurrent", colour: "#f0e442", ink: "#000000", pattern: "back" },
    { name: "other", colour: "#999999", ink: "#000000", pattern: "none" },
];

const patterns: [RegExp, number][] = [
    [/^(MUL_MAT|OUT_PROD)/, 0],
    [/^(FLASH_ATTN|SOFT_MAX|ROPE|DIAG_MASK|ALIBI|ADD_REL_POS|GET_REL_POS)/, 1],
    [/NORM/, 2],
    [/^(ARGSORT|ARGMAX|TOP_K|SUM|CUMSUM|MEAN|COUNT_EQUAL|CLAMP|DIV$)/, 5],
    [/^(SSM|RWKV|GATED|CONV|IM2COL|POOL|DELTA|SOLVE|TRI)/, 6],
    [/^(GET_ROWS|SET_ROWS|SET|CPY|DUP|CONT|CONCAT|REPEAT|PAD|UPSCALE|ARANGE|FILL|ROLL|TRANSPOSE|PERMUTE|VIEW|RESHAPE|ACC)/, 4],
    [/^(ADD|MUL|SUB|SCALE|GLU|UNARY|SQR|SQRT|LOG|SIN|COS|LEAKY|SILU|GELU|RELU|TANH|EXP|NEG|ABS|STEP|SIGMOID|SWIGLU|MAP|CUSTOM)/, 3],
];

const familiesByOp = new Map<string, Family>();

export function opFamily(op: string): Family {
    let family = familiesByOp.get(op);
    if (!family) {
        family = families[patterns.find(([pattern]) => pattern.test(op))?.[1] ?? 7]!;
        familiesByOp.set(op, family);
    }
    return family;
}

// Of steps: in the strip of tokens, the timeline and the roofline.
export const phaseColour = (phase: string) => opFamily({ PROMPT: "ROPE", MIXED: "ARGSORT", VERIFY: "NORM", WARMUP: "" }[phase] ?? "ADD").colour;

// ---- heat

// Cividis at even steps. Linear interpolation between them is indistinguishable from the full
// table.
const cividis = [
    [0, 34, 78], [8, 51, 112], [53, 69, 108], [79, 87, 108], [102, 105, 112], [125, 124, 120],
    [149, 144, 118], [174, 165, 109], [200, 187, 92], [228, 209, 69], [254, 232, 56],
] as const;

function mix(v: number): [number, number, number] {
    const at = Math.min(1, Math.max(0, v)) * (cividis.length - 1);
    const i = Math.min(cividis.length - 2, Math.floor(at));
    const [a, b, t] = [cividis[i]!, cividis[i + 1]!, at - i];
    return [0, 1, 2].map((c) => Math.round(a[c]! + (b[c]! - a[c]!) * t)) as [number, number, number];
}

// The scale begins where it contrasts with untouched cells: by at least 3:1 on a dark page, which
// excludes its darker half.
const firsts = { light: 0.2, dark: 0.47 };
let scale: keyof typeof firsts = "light";
let scaled: [number, number, number][] | null = null; // computed on first use

export function heatFor(scheme: keyof typeof firsts): void {
    if (scale !== scheme) scaled = null;
    scale = scheme;
}

// v from 0 to 1, already on the log scale (see heatOf).
export function heat(v: number): string {
    const [r, g, b] = heatRgb(v);
    return `rgb(${r}, ${g}, ${b})`;
}

export function heatRgb(v: number): readonly [number, number, number] {
    const first = firsts[scale];
    scaled ??= Array.from({ length: 256 }, (_, i) => mix(first + ((1 - first) * i) / 255));
    return scaled[Math.round(Math.min(1, Math.max(0, v)) * 255)]!;
}

// Position of n on a log scale that maps 1 to 0 and `most` to 1.
export function heatOf(n: number, most: number): number {
    if (n <= 1 || most <= 1) return n >= most && most > 0 && n > 0 ? 1 : 0;
    return Math.log(n) / Math.log(most);
}

// Black or white, whichever is readable on heat(v).
export function heatInk(v: number): string {
    return scale === "light" && v < 0.34 ? "#ffffff" : "#000000"; // both have 4.5:1 there
}

// The scale as a CSS gradient.
export const heatGradient = (): string => `linear-gradient(90deg, ${[0, 0.2, 0.4, 0.6, 0.8, 1].map(heat).join(", ")})`;

// ---- diffs: blue and orange
export const faster = "var(--faster)";
export const slower = "var(--slower)";

// ---- themes

const names = ["surface", "raised", "sunken", "ink", "faint", "line", "accent", "chosen", "focus", "hatch", "empty", "wait", "stall", "diskwait", "faster", "slower", "kv", "compute", "weights", "io", "other", "warn"] as const;
export type Theme = Record<(typeof names)[number], string> & { dark: boolean; forced: boolean };

// Converts any CSS colours, including system colours, to #rrggbb for pixel strips. All share one
// canvas, because each canvas takes 1 ms.
function resolved(colours: readonly string[]): string[] {
    const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true })!;
    colours.forEach((colour, i) => {
        pen.fillStyle = colour;
        pen.fillRect(i, 0, 1, 1);
    });
    const { data } = pen.getImageData(0, 0, colours.length, 1);
    return colours.map((_, i) => `#${[0, 1, 2].map((part) => data[4 * i + part]!.toString(16).padStart(2, "0")).join("")}`);
}

function readTheme(): Theme {
    const style = getComputedStyle(document.documentElement);
    const values = resolved(names.map((name) => style.getPropertyValue(`--${name}`).trim()));
    const theme = Object.fromEntries(names.map((name, i) => [name, values[i]])) as unknown as Theme;
    theme.forced = matchMedia("(forced-colors: active)").matches;
    theme.dark = style.getPropertyValue("--scheme").trim() === "dark";
    heatFor(theme.dark ? "dark" : "light");
    return theme;
}

const current = signal<Theme | null>(null);

// Components and effects that call this redraw when the theme changes.
export function theme(): Theme {
    return current.value ?? (current.value = readTheme());
}

// Device pixels per CSS pixel.
let asked: number | null = null;
export const density = (): number => asked ?? (window.devicePixelRatio || 1);

// Draws light on white at the resolution `fine` while `make` runs.
export async function inFigure<T>(fine: number, make: () => Promise<T> | T): Promise<T> {
    const draw = async (isFigure: boolean) => {
        asked = isFigure ? fine : null;
        document.documentElement.classList.toggle("figure", isFigure);
        current.value = readTheme();
        for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame);
    };
    await draw(true);
    try {
        return await make();
    } finally {
        await draw(false);
    }
}

export function watchTheme(): void {
    const again = () => (current.value = readTheme());
    for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)"]) matchMedia(query).addEventListener("change", again);
    again();
}
