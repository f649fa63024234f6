import type { Random } from '../../support/random.ts'

/** Which part of a write is on disk. */
export interface SurvivingParts {
  /** Pairs of start and end, counted from the first byte of the write; the other bytes are as they were, or zero. */
  readonly ranges: readonly (readonly [start: number, end: number])[]
  /** Whether the file is as long as the whole write makes it. */
  readonly isSizeKept: boolean
}

/** Decides what a power loss leaves of unsynced changes; asked once for each, in order. */
export interface Chooser {
  /** Whether a new name, a removed name, a rename or a truncation is on disk. */
  keepsChange(): boolean
  partsOfWrite(offset: number, length: number): SurvivingParts
}

const SECTOR_BYTES = 512

/** Everything had reached the disk. */
export const keepAll: Chooser = {
  keepsChange: () => true,
  partsOfWrite: (_offset, length) => ({ ranges: [[0, length]], isSizeKept: true }),
}

/** Only what was synced had reached the disk. */
export const dropAll: Chooser = {
  keepsChange: () => false,
  partsOfWrite: () => ({ ranges: [], isSizeKept: false }),
}

/** Names and sizes had reached the disk, but no bytes. */
export const keepNamesAndSizes: Chooser = {
  keepsChange: () => true,
  partsOfWrite: () => ({ ranges: [], isSizeKept: true }),
}

/** Each change may have reached the disk independently, and writes in part. */
export function chooseRandomly({ integer }: Pick<Random, 'integer'>): Chooser {
  return {
    keepsChange: () => integer(0, 1) === 1,
    partsOfWrite(offset, length) {
      switch (integer(0, 4)) {
        case 0:
          return dropAll.partsOfWrite(offset, length)
        case 1:
          return keepNamesAndSizes.partsOfWrite(offset, length)
        case 2:
          return { ranges: [[0, integer(0, length)]], isSizeKept: integer(0, 1) === 1 }
        case 3:
          return {
            ranges: sectors(offset, length).filter(() => integer(0, 1) === 1),
            isSizeKept: integer(0, 1) === 1,
          }
        default:
          return keepAll.partsOfWrite(offset, length)
      }
    },
  }
}

/** A write, cut at the sectors of the file. */
function sectors(offset: number, length: number): [number, number][] {
  const found: [number, number][] = []
  for (let start = 0; start < length; ) {
    const end = Math.min(length, start + SECTOR_BYTES - ((offset + start) % SECTOR_BYTES))
    found.push([start, end])
    start = end
  }
  return found
}
