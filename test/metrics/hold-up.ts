/** Blocks the event loop, and keeps one core busy. */
export function holdUp(milliseconds: number) {
  const end = process.hrtime.bigint() + BigInt(milliseconds) * 1_000_000n
  while (process.hrtime.bigint() < end);
}
