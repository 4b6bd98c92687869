// Colours of nodes by computed values: the range in one recording, the error between two. They show
// how a fault propagates.
import { heat, heatInk } from "../../colours";
import { cellText, type Grid, type Kind, kindOf, levelOf, short, two } from "../values/grid";

export interface Shade {
    colour: string;
    ink: string;
    text: string; // short, on the node
    label: string;
    weight: number; // the node with the largest weight represents its block
}

export interface Shades {
    grid: Grid;
    of: ReadonlyMap<number, Shade>; // by node
}

const words: Partial<Record<Kind, string>> = { nan: "NaN", inf: "infinite", wrong: "wrong" };

export function shadesOf(grid: Grid): Shades {
    const of = new Map<number, Shade>();
    grid.lines.forEach((line, i) => {
        const cell = grid.cell(i, 0);
        const kind = kindOf(cell);
        if (kind === "none") return;
        const isWrong = kind === "wrong" || (line.verdict === "wrong" && !words[kind]);
        const level = levelOf(grid, cell);
        const plain = grid.of !== "error" ? `${grid.of} ${short(cell.value)}` : kind === "zero" ? "equal" : `error ${two(cell.value)}`;
        of.set(cell.node, {
            ...(isWrong ? { colour: "var(--slower)", ink: "var(--surface)" } : words[kind] ? { colour: "var(--ink)", ink: "var(--surface)" } : kind === "zero" ? { colour: "var(--sunken)", ink: "var(--ink)" } : { colour: heat(level), ink: heatInk(level) }),
            text: isWrong ? "wrong" : (words[kind] ?? plain),
            label: isWrong && kind !== "wrong" ? `wrong, ${cellText(grid, cell)}` : cellText(grid, cell),
            weight: kind === "nan" ? 4 : kind === "inf" ? 3 : isWrong ? 2 : level,
        });
    });
    return { grid, of };
}
