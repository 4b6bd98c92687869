// Positions of the cells of a memory track: bytes in, pixels out.
//
// A unit is the smallest thing that can have its own cell: a tensor, one expert of an expert
// tensor, a range of header or padding. Cells are in the order of bytes and do not overlap:
// - If every unit can have `least` pixels, it gets them, and the remaining width is divided by
//   bytes. This distorts; `toScale` says so.
// - Otherwise small neighbours fold into one cell with a count. Experts fold only with experts of
//   the same tensor.
// - In true scale nothing is widened: a cell is as wide as its bytes, and cells below `leastTrue`
//   pixels fold.

export interface Unit {
    begin: number; // bytes, on the axis of the track
    end: number;
    entry: number; // index into the map's (or the buffers') rows
    expert: number; // -1: not one of several
}

export interface Cell {
    x: number; // pixels; x + width is the next cell's x
    width: number;
    first: number; // units first..last, inclusive
    last: number;
    begin: number; // bytes
    end: number;
}

export interface Layout {
    cells: Cell[];
    toScale: boolean;
    folded: number; // units that share a cell with others
}

export const least = 5;
const leastTrue = 2;

interface Group {
    first: number;
    last: number;
    bytes: number;
}

// Joins neighbours whose width at `scale` pixels per byte is below `minimum` until the group
// reaches it.
function fold(units: readonly Unit[], scale: number, minimum: number): Group[] {
    const groups: Group[] = [];
    let open: Group | null = null;
    units.forEach((unit, i) => {
        const bytes = unit.end - unit.begin;
        const isSmall = bytes * scale < minimum;
        const before = open && units[open.last]!;
        const joins = open && isSmall && open.bytes * scale < minimum && (before!.expert < 0) === (unit.expert < 0) && (unit.expert < 0 || before!.entry === unit.entry);
        if (open && joins) {
            open.last = i;
            open.bytes += bytes;
        } else {
            const group: Group = { first: i, last: i, bytes };
            groups.push(group);
            open = isSmall ? group : null;
        }
    });
    return groups;
}

// Widths that add up to `width`: each at least `minimum`, the rest by bytes. Groups that fall short
// get the minimum, smallest first, until the scale of the others is consistent.
function spread(groups: readonly Group[], width: number, minimum: number): number[] {
    const order = groups.map((_, i) => i).sort((a, b) => groups[a]!.bytes - groups[b]!.bytes);
    let bytes = groups.reduce((sum, group) => sum + group.bytes, 0);
    let pixels = width;
    const widths = new Array<number>(groups.length).fill(0);
    for (const i of order) {
        const share = bytes > 0 ? (groups[i]!.bytes * pixels) / bytes : minimum;
        widths[i] = Math.max(minimum, share);
        pixels -= widths[i]!;
        bytes -= groups[i]!.bytes;
    }
    return widths;
}

export function layout(units: readonly Unit[], width: number, options: { trueScale?: boolean } = {}): Layout {
    const bytes = units.reduce((sum, unit) => sum + unit.end - unit.begin, 0);
    if (units.length === 0 || bytes <= 0 || width <= 0) return { cells: [], toScale: true, folded: 0 };
    const scale = width / bytes;
    const fits = units.length * least <= width;
    const groups: Group[] = options.trueScale
        ? fold(units, scale, leastTrue)
        : fits
          ? units.map((unit, i) => ({ first: i, last: i, bytes: unit.end - unit.begin }))
          : fold(units, scale, least);
    const widths = options.trueScale
        ? groups.map((group) => group.bytes * scale)
        : spread(groups, width, Math.min(least, width / groups.length));
    const toScale = widths.every((got, i) => Math.abs(got - groups[i]!.bytes * scale) < 1);

    const cells: Cell[] = [];
    let at = 0;
    let x = 0;
    let first = 0; // the first unit that has no cell yet
    groups.forEach((group, i) => {
        at += widths[i]!;
        const next = i === groups.length - 1 ? width : Math.round(at);
        if (next > x) {
            cells.push({ x, width: next - x, first, last: group.last, begin: units[first]!.begin, end: units[group.last]!.end });
            first = group.last + 1;
        }
        // In true scale a group may be narrower than a pixel. The next cell absorbs it; at the end
        // the previous one does.
        x = next;
    });
    const last = cells[cells.length - 1];
    if (last) [last.last, last.end] = [units.length - 1, units[units.length - 1]!.end];
    const folded = cells.reduce((sum, cell) => sum + (cell.last > cell.first ? cell.last - cell.first + 1 : 0), 0);
    return { cells, toScale, folded };
}

// The cell at a pixel, or -1.
export function cellAt(cells: readonly Cell[], x: number): number {
    let low = 0;
    let high = cells.length - 1;
    while (low <= high) {
        const middle = (low + high) >> 1;
        const cell = cells[middle]!;
        if (x < cell.x) high = middle - 1;
        else if (x >= cell.x + cell.width) low = middle + 1;
        else return middle;
    }
    return -1;
}

// The byte at a pixel. Units of a track need not be adjacent in the file, so a folded cell is
// walked unit by unit.
export function byteAt(units: readonly Unit[], cells: readonly Cell[], x: number): number {
    if (cells.length === 0) return 0;
    const last = cells[cells.length - 1]!;
    const cell = cells[cellAt(cells, x)] ?? (x < cells[0]!.x ? cells[0]! : last);
    const part = Math.min(1, Math.max(0, (x - cell.x) / cell.width));
    let bytes = 0;
    for (let i = cell.first; i <= cell.last; i++) bytes += units[i]!.end - units[i]!.begin;
    let rest = part * bytes;
    for (let i = cell.first; i <= cell.last; i++) {
        const size = units[i]!.end - units[i]!.begin;
        if (rest < size) return Math.floor(units[i]!.begin + rest);
        rest -= size;
    }
    return units[cell.last]!.end - 1;
}

// The reverse.
export function pixelOf(units: readonly Unit[], cells: readonly Cell[], byte: number): number {
    for (const cell of cells) {
        if (byte >= cell.end) continue;
        if (byte <= cell.begin) return cell.x;
        let bytes = 0;
        let before = 0;
        for (let i = cell.first; i <= cell.last; i++) {
            const unit = units[i]!;
            bytes += unit.end - unit.begin;
            before += Math.max(0, Math.min(unit.end, byte) - unit.begin);
        }
        return cell.x + (before / bytes) * cell.width;
    }
    const last = cells[cells.length - 1];
    return last ? last.x + last.width : 0;
}

// The unit that holds a byte, or the one after it.
export function unitAt(units: readonly Unit[], byte: number): number {
    let low = 0;
    let high = units.length - 1;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (units[middle]!.end <= byte) low = middle + 1;
        else high = middle;
    }
    return units.length === 0 ? -1 : low;
}
