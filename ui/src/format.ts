// Numbers as text, formatted like the command line's: "1.21 MiB", "34.5 us", "1,234,567", "12.3 %".

// Three significant digits: 1.21, 12.1, 121.
function scaled(value: number, unit: string): string {
    return `${value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0)} ${unit}`;
}

export function bytes(n: number): string {
    if (n < 1024) return `${Math.round(n)} B`;
    const units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let value = n / 1024;
    let unit = 0;
    while (value >= 1023.5 && unit + 1 < units.length) {
        value /= 1024;
        unit++;
    }
    return scaled(value, units[unit]!);
}

export function time(ns: number): string {
    if (ns < 0) return `-${time(-ns)}`;
    if (ns < 1000) return `${Math.round(ns)} ns`;
    if (ns / 1e3 < 999.5) return scaled(ns / 1e3, "us");
    if (ns / 1e6 < 999.5) return scaled(ns / 1e6, "ms");
    if (ns / 1e9 < 600) return scaled(ns / 1e9, "s");
    const seconds = Math.floor(ns / 1e9);
    return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, "0")} s`;
}

// A time on an axis with ticks `step` ns apart, with enough digits to distinguish neighbours.
export function instant(ns: number, step: number): string {
    const [unit, size] = step >= 1e8 ? ["s", 1e9] as const : step >= 1e5 ? ["ms", 1e6] as const : step >= 100 ? ["us", 1e3] as const : ["ns", 1] as const;
    const digits = Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9));
    const [whole, fraction] = (ns / size).toFixed(digits).split(".");
    return `${group(whole!)}${fraction ? `.${fraction}` : ""} ${unit}`;
}

// A time with the precision of a window of `length` ns: "225.1234 ms" within 33 us.
export function moment(ns: number, length: number): string {
    const [unit, size] = ns >= 1e9 ? (["s", 1e9] as const) : ns >= 1e6 ? (["ms", 1e6] as const) : ns >= 1e3 ? (["us", 1e3] as const) : (["ns", 1] as const);
    const digits = Math.max(0, Math.min(Math.log10(size), Math.ceil(Math.log10((100 * size) / Math.max(1, length)))));
    const [whole, fraction] = (ns / size).toFixed(digits).split(".");
    return `${group(whole!)}${fraction ? `.${fraction}` : ""} ${unit}`;
}

// null: not seen
export function count(n: number | null): string {
    return n === null ? "not seen" : group(String(Math.round(n)));
}

function group(digits: string): string {
    return digits.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

// "18,204", "3.1 M": where the exact number does not matter.
export function roughly(n: number): string {
    if (n < 1e5) return count(n);
    const [value, unit] = n < 999_500 ? [n / 1e3, "k"] : n < 999.5e6 ? [n / 1e6, "M"] : [n / 1e9, "G"];
    return `${(value as number).toFixed((value as number) < 9.95 ? 1 : 0)} ${unit}`;
}

// A rate with three digits, a small one with two that count: 102, 1.43, 0.0024.
export function threeDigits(value: number): string {
    return value >= 99.95 ? count(value) : value >= 9.995 ? value.toFixed(1) : value >= 0.0995 || value === 0 ? value.toFixed(2) : value.toPrecision(2);
}

export function share(part: number, whole: number): string {
    return whole === 0 ? "-" : `${((100 * part) / whole).toFixed(1)} %`;
}

// "18.6 ×", "2,440.2 ×"
export function times(ratio: number, digits = 1): string {
    const [whole, fraction] = ratio.toFixed(digits).split(".");
    return `${group(whole!)}.${fraction} ×`;
}

export function plural(n: number, one: string, many = `${one}s`): string {
    return `${count(n)} ${n === 1 ? one : many}`;
}

// "2048 × 32000": dimensions without trailing ones.
export function shape(dimensions: readonly number[]): string {
    let length = dimensions.length;
    while (length > 1 && dimensions[length - 1] === 1) length--;
    return dimensions.slice(0, length).join(" × ");
}

// A token's text on one line, with invisible characters spelt out.
export function tokenText(text: string): string {
    return text.replace(/\n/g, "\\n").replace(/\t/g, "\\t").replace(/\r/g, "\\r").replace(/ /g, "␣");
}

// Cuts the middle of a long name, because names with the same beginning differ at their ends.
export function middleCut(text: string, most: number): string {
    const end = Math.ceil((most - 1) * 0.6);
    return text.length <= most ? text : `${text.slice(0, most - 1 - end)}…${text.slice(-end)}`;
}
