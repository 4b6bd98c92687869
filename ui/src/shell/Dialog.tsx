// A dialog over the page. Escape, or a click outside of it, closes it.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

export function Dialog({ isOpen, close, children, ...rest }: { isOpen: boolean; close(): void; children: ComponentChildren; class?: string; "aria-label"?: string; "aria-labelledby"?: string }) {
    const dialog = useRef<HTMLDialogElement>(null);
    // The close event comes late, when the dialog may be open again. Escape and the button
    // therefore close from here; the event counts only for other ways of closing.
    const own = useRef(0);
    // Opens the dialog before the next key event, so that text typed right after / goes into the
    // search.
    useLayoutEffect(() => {
        const { open } = dialog.current!;
        if (isOpen && !open) dialog.current!.showModal();
        if (!isOpen && open) {
            own.current++;
            dialog.current!.close();
        }
    }, [isOpen]);
    const instead = (event: Event) => {
        event.preventDefault();
        event.stopPropagation(); // else Escape would also act on the page, where no dialog is open by then
        close();
    };
    return (
        <dialog
            ref={dialog}
            {...rest}
            onKeyDown={(event) => event.key === "Escape" && !event.isComposing && instead(event)}
            onSubmit={instead}
            onClose={() => (own.current > 0 ? own.current-- : close())}
            onClick={(event) => event.target === dialog.current && close()}
        >
            {isOpen && children}
        </dialog>
    );
}

// The same with a title and a button at its end.
export function TitledDialog({ title, children, ...rest }: { isOpen: boolean; close(): void; title: string; children: ComponentChildren; class?: string }) {
    return (
        <Dialog {...rest} aria-label={title}>
            <div>
                <h2 tabIndex={-1} autoFocus>
                    {title}
                </h2>
                {children}
                <form method="dialog">
                    <p class="buttons">
                        <button>Close</button>
                    </p>
                </form>
            </div>
        </Dialog>
    );
}
