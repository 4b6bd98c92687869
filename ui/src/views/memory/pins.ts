// The weights that a memory budget would keep, highlighted on the map.
import { useMemo } from "preact/hooks";
import { useAsk } from "../../ask";
import type { Paging } from "../../api";
import { pagingPath, pinned } from "../storage/paging";

export interface Pins {
    memory: number;
    parts: ReadonlySet<string>; // "name", or "name expert"
}

export function usePins(): Pins | null {
    const memory = pinned.value;
    const answer = useAsk<Paging>(memory === null ? null : pagingPath(), { keep: true });
    return useMemo(() => {
        const pins = memory === null ? null : answer.data?.budgets.find((one) => one.memory_bytes === memory)?.pins;
        return pins ? { memory: memory!, parts: new Set(pins.weights.map((one) => (one.expert === null ? one.name : `${one.name} ${one.expert}`))) } : null;
    }, [memory, answer.data]);
}
