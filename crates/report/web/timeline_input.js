// Pointer and keys of the timeline.

Object.assign(TimelineView.prototype, {
  move(what) {
    if (!this.arms.length) return;
    const moves = {
      left: () => this.look(this.from - this.span / 4, this.span),
      right: () => this.look(this.from + this.span / 4, this.span),
      in: () => this.zoom(0.5), out: () => this.zoom(2), all: () => this.all(),
    };
    moves[what]();
  },

  listen() {
    this.frame.addEventListener("keydown", (e) => this.key(e));
    this.frame.addEventListener("wheel", (e) => this.wheel(e), { passive: false });
    this.frame.addEventListener("pointerdown", (e) => this.press(e));
    this.frame.addEventListener("pointermove", (e) => (this.drag ? this.pull(e) : this.arms.length && this.hover(e)));
    for (const end of ["pointerup", "pointercancel"]) this.frame.addEventListener(end, (e) => this.release(e));
    this.frame.addEventListener("pointerleave", () => this.unhover());
    for (const e of ["focus", "blur"]) this.frame.addEventListener(e, () => this.redraw());
  },

  wheel(event) {
    // The page scrolls as usual until the timeline was clicked or Ctrl is held.
    const isVertical = Math.abs(event.deltaX) <= Math.abs(event.deltaY);
    if (!event.ctrlKey && document.activeElement !== this.frame && isVertical) return;
    event.preventDefault();
    if (event.altKey) {
      this.scroll += event.deltaY;
      this.redraw();
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      this.look(this.from + ((event.deltaX || event.deltaY) / this.geometry.plot) * this.span, this.span);
    } else {
      this.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 300))), this.timeAt(event.clientX));
    }
    this.hover(event);
  },

  press(event) {
    if (event.button !== 0 || !this.arms.length) return;
    const overview = event.clientY - this.canvas.getBoundingClientRect().top < ROOM.overview;
    this.drag = { x: event.clientX, y: event.clientY, from: this.from, scroll: this.scroll, overview, moved: false };
    this.frame.setPointerCapture(event.pointerId);
    if (overview) this.pull(event);
  },

  pull(event) {
    const d = this.drag;
    d.moved ||= Math.abs(event.clientX - d.x) + Math.abs(event.clientY - d.y) > 3;
    this.unhover();
    if (d.overview) {
      const x = event.clientX - this.canvas.getBoundingClientRect().left - this.geometry.label;
      this.look((x / this.geometry.plot) * this.end - this.span / 2, this.span);
    } else if (d.moved) {
      this.scroll = d.scroll - (event.clientY - d.y);
      this.look(d.from - ((event.clientX - d.x) / this.geometry.plot) * this.span, this.span);
    }
  },

  release(event) {
    if (!this.drag) return;
    const { moved, overview } = this.drag;
    this.drag = null;
    const index = this.lineAt(event.clientY);
    const row = this.lines[index]?.row;
    if (!moved && !overview && row) this.choose(index, Schedule.waitOrSlice(row, this.timeAt(event.clientX)));
  },

  key(event) {
    if (!this.arms.length || event.ctrlKey || event.metaKey || event.altKey) return;
    const keys = {
      ArrowLeft: () => this.move("left"), ArrowRight: () => this.move("right"),
      "+": () => this.move("in"), "=": () => this.move("in"), "-": () => this.move("out"), "−": () => this.move("out"),
      Home: () => this.look(0, this.span), End: () => this.look(this.end, this.span), Escape: () => this.all(),
      ArrowUp: () => this.choose(Math.max(0, this.line - 1), -1),
      ArrowDown: () => this.choose(Math.min(this.lines.length - 1, this.line + 1), -1),
      n: () => this.step(1), p: () => this.step(-1), Enter: () => this.zoomToSlice(),
    };
    const action = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    this.unhover();
    action();
  },

  step(by) {
    const row = this.lines[this.line]?.row;
    if (!row?.count) return;
    const inside = Schedule.firstAfter(row, this.from);
    const next = this.slice < 0 ? inside : this.slice + by;
    const slice = Math.min(row.count - 1, Math.max(0, next));
    this.choose(this.line, slice);
    const [start, end] = [row.start[slice], row.end[slice]];
    if (start < this.from || end > this.from + this.span) this.look((start + end) / 2 - this.span / 2, this.span);
  },

  zoomToSlice() {
    const row = this.lines[this.line]?.row;
    if (this.slice < 0 || !row) return;
    const length = row.end[this.slice] - row.start[this.slice];
    this.look(row.start[this.slice] - 1.5 * length, 4 * length);
  },
});
