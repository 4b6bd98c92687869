// Ratios of medians with their 95 % interval, by bootstrap with a fixed seed.
export function median(values) {
    const sorted = [...values].sort((a, b) => a - b), n = sorted.length;
    return n % 2 ? sorted[(n - 1) / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

export function random(seed) { // mulberry32
    return () => {
        seed = (seed + 0x6d2b79f5) | 0;
        let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
        t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
        return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
}

// The ratio of a figure of `a` to that of `b`. Pairs (a[i], b[i]) were measured one after the
// other, so they are drawn together.
export function ratioOf(figure, a, b, rounds = 2000) {
    const next = random(1), n = a.length, ratios = [];
    for (let r = 0; r < rounds; r++) {
        const picked = Array.from({ length: n }, () => Math.floor(next() * n));
        ratios.push(figure(picked.map((i) => a[i])) / figure(picked.map((i) => b[i])));
    }
    ratios.sort((x, y) => x - y);
    return { ratio: figure(a) / figure(b), low: ratios[Math.floor(rounds * 0.025)], high: ratios[Math.floor(rounds * 0.975)] };
}

export const ratioOfMedians = (a, b, rounds) => ratioOf(median, a, b, rounds);
