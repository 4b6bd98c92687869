// The legend of colours and marks.
import { HeatScale } from "../../shell/HeatScale";
import { type Grid, kindOf, short } from "./grid";
import "./values.css";

export function Scale({ grid }: { grid: Grid }) {
    const has = new Set<string>();
    grid.lines.forEach((_, i) => grid.places.forEach((__, k) => has.add(kindOf(grid.cell(i, k)))));
    const isError = grid.of === "error";
    return (
        <span class="legend values-legend">
            <span>
                {isError ? "below 0.0001 of what is explained" : short(grid.ends[0])}
                <HeatScale />
                {isError ? "all of it" : short(grid.ends[1])}
            </span>
            {isError && (
                <span>
                    <b class="mark mark-wrong">|</b> more: wrong
                </span>
            )}
            {(has.has("nan") || !isError) && (
                <span>
                    <b class="mark">×</b> NaN
                </span>
            )}
            {(has.has("inf") || !isError) && (
                <span>
                    <b class="mark">○</b> infinite
                </span>
            )}
            {has.has("zero") && (
                <span>
                    <i class="swatch" style={{ "--swatch": "var(--sunken)" }} /> {isError ? "equal bit by bit" : "all 0"}
                </span>
            )}
            {has.has("none") && (
                <span>
                    <i class="swatch pattern-hatch" /> not recorded
                </span>
            )}
        </span>
    );
}
