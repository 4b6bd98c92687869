// The size of nodes. Separate from layout.ts, so that the page does not load code that only the
// worker needs.
export const NODE_WIDTH = 210;
const HEAD = 36,
    LINE = 15;

export const nodeHeight = (chips: number) => HEAD + LINE * chips;
