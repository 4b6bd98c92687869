// Playback: steps through tokens, or through the ops of each token. It moves the selection, so
// every view follows.
import { signal } from "@preact/signals";
import type { LogAnswer, OpAnswer } from "../api";
import { ask } from "../ask";
import { here, moving, select, selection, summary } from "../state";
import { announce } from "./Announce";

export const playing = signal(false);
export const pace = signal<"tokens" | "ops">("tokens");
export const speed = signal(1);
// The current op of playback; null: it does not play ops.
export const played = signal<{ run: number; node: number } | null>(null);
export const opShown = signal<string | null>(null);

const tokenPause = 700;
const opPause = 60;
const pageRows = 500;

let turn = 0; // incremented to end the current playback

export function togglePlayback(): void {
    if (playing.value) stopPlayback();
    else void play(++turn);
}

export function stopPlayback(): void {
    turn++;
    playing.value = moving.value = false;
    opShown.value = null;
    played.value = null;
}

const wait = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds / speed.value));

async function play(mine: number): Promise<void> {
    const last = (summary.value?.tokens ?? 0) - 1;
    if (last < 0) return;
    playing.value = true;
    moving.value = pace.value === "ops";
    const chosen = selection.value.tokens;
    const isOne = chosen !== null && chosen[0] === chosen[1];
    // A range is played within its bounds; a single token is the start.
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
    if (mine !== turn) return;
    stopPlayback();
    select({ op: null });
}

async function playOps(token: number, mine: number): Promise<void> {
    for (let from = 0; mine === turn; from += pageRows) {
        const page = await ask<LogAnswer>(here("log", { from, count: pageRows, tokens: `${token}..${token}` }));
        for (const row of page.ops) {
            if (mine !== turn) return;
            if (row.fused_with !== null) continue;
            // Prefetches the op's bytes and experts, so that views find them in the cache.
            await ask<OpAnswer>(here("op", { run: row.run, node: row.node })).catch(() => null);
            if (mine !== turn) return;
            const op = { run: row.run, node: row.node };
            played.value = op;
            opShown.value = `${row.op} ${row.name}`;
            select({ op });
            await wait(opPause);
        }
        if (page.ops.length === 0 || from + page.ops.length >= (page.total ?? 0)) return;
    }
}
