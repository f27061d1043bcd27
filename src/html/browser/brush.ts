const LEAST_DRAG = 6;

/** Dragging over a picture. Places are pixels from its left edge. */
export function listenToBrush(
  stage: HTMLElement,
  on: {
    readonly moved: (event: PointerEvent) => void;
    readonly dragged: (from: number, to: number) => void;
    readonly selected: (from: number, to: number) => void;
    readonly left: () => void;
  },
): void {
  let start: number | null = null;
  stage.addEventListener('pointerdown', ({ offsetX }) => {
    start = offsetX;
  });
  stage.addEventListener('pointermove', (event) => {
    on.moved(event);
    if (start !== null) on.dragged(Math.min(start, event.offsetX), Math.max(start, event.offsetX));
  });
  stage.addEventListener('pointerup', ({ offsetX }) => {
    const from = start;
    start = null;
    if (from === null || Math.abs(offsetX - from) < LEAST_DRAG) return;
    on.selected(Math.min(from, offsetX), Math.max(from, offsetX));
  });
  stage.addEventListener('pointerleave', () => {
    start = null;
    on.left();
  });
}
