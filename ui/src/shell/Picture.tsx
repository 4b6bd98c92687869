// The frame of a picture: title, files to save (PNG, SVG, PDF, CSV), and how it was computed.
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { Computed } from "./Computed";
import { SaveButtons, type Saved, usePicture } from "./Saves";

export interface PictureProps extends Saved {
    command: string;
    tools?: ComponentChildren;
    children: ComponentChildren; // one svg, or canvases, or elements
}

export function Picture({ title, file, csv, command, computed, tools, figure, of, children }: PictureProps) {
    const box = useRef<HTMLDivElement>(null);
    usePicture({ title, file, figure }, () => box.current);
    return (
        <section class="picture-part" aria-label={title} data-picture={file}>
            <div class="picture-head">
                <h3>{title}</h3>
                {tools}
                <span class="table-space" />
                <SaveButtons {...{ title, file, csv, figure }} root={() => box.current} />
            </div>
            <div ref={box}>{children}</div>
            <Computed command={command} {...(of === undefined ? {} : { of })}>
                {computed}
            </Computed>
        </section>
    );
}
