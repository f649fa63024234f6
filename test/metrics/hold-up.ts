/** Keeps the event loop, and a core, from anything else. */
export function holdUp(milliseconds: number) {
  const end = process.hrtime.bigint() + BigInt(milliseconds) * 1_000_000n
  while (process.hrtime.bigint() < end);
}
