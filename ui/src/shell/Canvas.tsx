// A canvas in device pixels. It redraws when its owner renders, when its size changes and when the
// theme changes.
import type { HTMLAttributes } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { density, theme, type Theme } from "../colours";

export type Draw = (context: CanvasRenderingContext2D, width: number, height: number, colours: Theme) => void;

// The width or height of the element that gets the ref, also if the element appears later.
export const useWidth = () => useSize("clientWidth");
export const useHeight = () => useSize("clientHeight");

function useSize(of: "clientWidth" | "clientHeight"): [{ current: HTMLDivElement | null }, number] {
    const box = useRef<HTMLDivElement>(null);
    const watched = useRef<{ element: HTMLDivElement; observer: ResizeObserver } | null>(null);
    const [size, setSize] = useState(0);
    useLayoutEffect(() => {
        const element = box.current;
        if (element === (watched.current?.element ?? null)) return;
        watched.current?.observer.disconnect();
        watched.current = null;
        if (!element) return;
        const measure = () => setSize(Math.floor(element[of]));
        const observer = new ResizeObserver(measure);
        observer.observe(element);
        watched.current = { element, observer };
        measure();
    });
    useLayoutEffect(() => () => watched.current?.observer.disconnect(), []);
    return [box, size];
}

// Sizes the canvas to `width` x `height` CSS pixels and draws.
export function paintOn(canvas: HTMLCanvasElement, width: number, height: number, draw: Draw): void {
    const ratio = density();
    const [w, h] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
    if (canvas.width !== w || canvas.height !== h) {
        canvas.width = w;
        canvas.height = h;
    }
    const context = canvas.getContext("2d")!;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    draw(context, width, height, theme());
}

type Rest = Omit<HTMLAttributes<HTMLCanvasElement>, "width" | "height" | "label" | "ref">;

export function Canvas({ width, height, draw, label, ...rest }: { width: number; height: number; draw: Draw; label: string } & Rest) {
    const canvas = useRef<HTMLCanvasElement>(null);
    theme(); // redraws when the theme changes
    useLayoutEffect(() => {
        if (canvas.current && width > 0) {
            canvas.current.style.height = `${height}px`;
            paintOn(canvas.current, width, height, draw);
        }
    });
    return <canvas ref={canvas} tabIndex={0} role="img" aria-label={label} {...rest} />;
}

// ---- patterns

const made = new Map<string, CanvasPattern>();

// Thin diagonal lines; `back` leans the other way.
export function hatch(context: CanvasRenderingContext2D, colour: string, background: string, gap = 6, back = false): CanvasPattern {
    const key = `${colour} ${background} ${gap} ${back}`;
    let pattern = made.get(key);
    if (!pattern) {
        const tile = document.createElement("canvas");
        tile.width = tile.height = gap;
        const pen = tile.getContext("2d")!;
        if (background) {
            pen.fillStyle = background;
            pen.fillRect(0, 0, gap, gap);
        }
        pen.strokeStyle = colour;
        pen.lineWidth = 1.1;
        pen.beginPath();
        for (const shift of [-gap, 0, gap]) {
            pen.moveTo(shift, back ? 0 : gap);
            pen.lineTo(shift + gap, back ? gap : 0);
        }
        pen.stroke();
        pattern = context.createPattern(tile, "repeat")!;
        made.set(key, pattern);
    }
    return pattern;
}

export function dots(context: CanvasRenderingContext2D, colour: string): CanvasPattern {
    const key = `dots ${colour}`;
    let pattern = made.get(key);
    if (!pattern) {
        const tile = document.createElement("canvas");
        tile.width = tile.height = 5;
        const pen = tile.getContext("2d")!;
        pen.fillStyle = colour;
        pen.fillRect(1, 1, 1.6, 1.6);
        pattern = context.createPattern(tile, "repeat")!;
        made.set(key, pattern);
    }
    return pattern;
}

export const canvasFont = (size: number, weight = 400) => `${weight} ${size}px system-ui, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif`;

// Writes text; if it is wider than `room`, cuts its middle, because names often differ at their
// ends.
export function endsWithin(context: CanvasRenderingContext2D, text: string, x: number, y: number, room: number): void {
    let shown = text;
    for (let left = text.length - 1; left > 3 && context.measureText(shown).width > room; left--) shown = `${text.slice(0, Math.floor(left / 2))}…${text.slice(text.length - Math.ceil(left / 2))}`;
    context.fillText(shown, x, y);
}

// Writes text; if it is wider than `room`, cuts its end with an ellipsis. Writes nothing if fewer
// than two letters fit.
export function textWithin(context: CanvasRenderingContext2D, text: string, x: number, y: number, room: number): void {
    if (room < 12) return;
    let shown = text;
    if (context.measureText(text).width > room) {
        let low = 0;
        let high = text.length;
        while (low < high) {
            const middle = (low + high + 1) >> 1;
            if (context.measureText(`${text.slice(0, middle)}…`).width <= room) low = middle;
            else high = middle - 1;
        }
        if (low < 2) return;
        shown = `${text.slice(0, low)}…`;
    }
    context.fillText(shown, x, y);
}
