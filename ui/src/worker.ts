// Work that would make the page stutter: the layout of graphs. A message in is a list of shapes, each answered by a message of its own.
import type { Shape } from "./views/graph/blocks";
import { layoutShape } from "./views/graph/layout";

// The page's types know only windows.
const scope = self as unknown as {
    onmessage: ((event: MessageEvent<Shape[]>) => void) | null;
    postMessage(message: unknown): void;
};

scope.onmessage = ({ data }) => {
    for (const shape of data) scope.postMessage({ signature: shape.signature, layout: layoutShape(shape) });
};
