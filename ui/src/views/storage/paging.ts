// The paging question, shared by the storage view and, for the weights to keep, the memory view.
import { asFlag, asNumber, here, kept, selection, summary } from "../../state";

// The budget whose kept weights the memory view highlights; null: none.
export const pinned = kept<number | null>("pins", null, asNumber);

// Replaying takes longer with more tokens: of a long recording the last ones are replayed, unless
// all are requested.
const replayed = 400;
export const replaysAll = kept<boolean>("replay-all", false, asFlag);
// The tokens that are replayed, or null for all of them.
export function replayedTokens(): [number, number] | null {
    const all = summary.value?.tokens ?? 0;
    return selection.value.tokens ?? (all > replayed && !replaysAll.value ? [all - replayed, all - 1] : null);
}

// Bytes of readahead; null: as the model's disk is set, or as Linux does by default.
export const readahead = kept<number | null>("readahead", null, asNumber);

export function pagingPath(): string {
    const tokens = replayedTokens();
    return here("paging", { tokens: tokens && `${tokens[0]}..${tokens[1]}`, readahead: readahead.value });
}
