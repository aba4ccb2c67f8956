/** Waiting for what happens elsewhere. */

/** Looks again and again until something is so; fails after a minute. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + 60_000;
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`it never happened: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
