// Playback over the memory bars: the tokens one after the other, or the ops inside a token and then those of the next.
import { signal } from "@preact/signals";
import type { LogAnswer, LogRow, ModelMap } from "../api";
import { ask } from "../ask";
import { here, select, selection, summary } from "../state";
import { announce } from "./Announce";

export const playing = signal(false);
export const pace = signal<"tokens" | "ops">("tokens");
export const speed = signal(1);
// Names of the tensors and buffers that the op shown right now touches.
export const marked = signal<Set<string>>(new Set());
export const opShown = signal<string | null>(null);

const tokenPause = 700;
const opPause = 60;
const pageRows = 500;

let turn = 0; // a new one ends the playback under way

export function togglePlayback(): void {
    if (playing.value) stopPlayback();
    else void play(++turn);
}

export function stopPlayback(): void {
    turn++;
    playing.value = false;
    opShown.value = null;
    marked.value = new Set();
}

const wait = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds / speed.value));

async function play(mine: number): Promise<void> {
    const last = (summary.value?.tokens ?? 0) - 1;
    if (last < 0) return;
    playing.value = true;
    const chosen = selection.value.tokens;
    const isOne = chosen !== null && chosen[0] === chosen[1];
    // A range is played within its bounds; one token is where to begin.
    const end = chosen && !isOne ? Math.min(last, chosen[1]) : last;
    let token = chosen ? (isOne && chosen[0] >= last && pace.value === "tokens" ? 0 : chosen[0]) : 0;
    try {
        for (; token <= end && mine === turn; token++) {
            select({ tokens: [token, token], op: null });
            if (pace.value === "ops") await playOps(token, mine);
            else await wait(tokenPause);
        }
    } catch (problem) {
        announce(problem instanceof Error ? problem.message : String(problem));
    }
    if (mine === turn) stopPlayback();
}

async function playOps(token: number, mine: number): Promise<void> {
    const map = await ask<ModelMap>(here("map"));
    for (let from = 0; mine === turn; from += pageRows) {
        const page = await ask<LogAnswer>(here("log", { from, count: pageRows, tokens: `${token}..${token}` }));
        for (const row of page.ops) {
            if (mine !== turn) return;
            marked.value = new Set(touchedBy(row, map));
            opShown.value = `${row.op} ${row.name}`;
            await wait(opPause);
        }
        if (page.ops.length === 0 || from + page.ops.length >= (page.total ?? 0)) return;
    }
}

function touchedBy(row: LogRow, map: ModelMap): string[] {
    const where = row.file_offset;
    if (where === null) return row.buffer === null ? [] : [`buffer ${row.buffer}`];
    const { file_offset, bytes, name, kind } = map.tensors;
    const i = file_offset.findIndex((at, k) => where >= at && where < at + bytes[k]!);
    return i < 0 ? [] : [name[i] ?? kind[i]!];
}
