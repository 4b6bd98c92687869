// A worker that computes graph layouts. A message holds a list of shapes; each shape is answered by
// one message.
import type { Shape } from "./views/graph/blocks";
import { layoutShape } from "./views/graph/layout";

// TypeScript's DOM types describe windows only.
const scope = self as unknown as {
    onmessage: ((event: MessageEvent<Shape[]>) => void) | null;
    postMessage(message: unknown): void;
};

scope.onmessage = ({ data }) => {
    for (const shape of data) scope.postMessage({ signature: shape.signature, layout: layoutShape(shape) });
};
