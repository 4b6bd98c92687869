// What less memory would cost is asked by the storage view and, for what to keep, by the memory view.
import { asNumber, here, kept, tokensParameter } from "../../state";

// The budget whose pins are lit in the memory view; null: none.
export const pinned = kept<number | null>("pins", null, asNumber);

export const pagingPath = () => here("paging", { tokens: tokensParameter() });
