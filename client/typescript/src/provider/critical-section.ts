/** One at a time for each key: everybody else waits in the order of asking. */
export class CriticalSections {
  readonly #last = new Map<string, Promise<void>>();

  /** Does some work alone among all work of this key. What it throws is the caller's, and frees the key. */
  async run<T>(key: Uint8Array, work: () => Promise<T>): Promise<T> {
    const name = Buffer.from(key).toString("latin1");
    const before = this.#last.get(name);
    let leave = () => {};
    const mine = new Promise<void>((resolve) => {
      leave = resolve;
    });
    this.#last.set(name, mine);
    await before;
    try {
      return await work();
    } finally {
      if (this.#last.get(name) === mine) this.#last.delete(name);
      leave();
    }
  }
}
