/** From `begin` to `end` by `sharedNow`. */
export interface Period {
  readonly begin: number
  readonly end: number
}

/** Milliseconds on the monotonic clock that all processes of the machine share. */
export function sharedNow(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
