// The size of nodes: apart from layout.ts, so that the page does not carry the library that only the worker needs.
export const NODE_WIDTH = 210;
const HEAD = 36,
    LINE = 15;

export const nodeHeight = (chips: number) => HEAD + LINE * chips;
