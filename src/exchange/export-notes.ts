import { AnswerTooLargeError } from '../errors.ts'
import { hashOfText } from '../text-hash.ts'

/** Bits for each text that is expected: of 17 that were not added, about one seems to be there. */
const BITS_A_TEXT = 16
const BITS_A_BYTE = 8

/** Counts the memory of what an export notes of records, while it does. */
export class ExportNotes {
  readonly #max: number
  #bytes = 0

  /** @param max In bytes. */
  constructor(max: number) {
    this.#max = max
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Call it before the memory is used. @throws {AnswerTooLargeError} if there is not so much. */
  add(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes <= this.#max) return
    throw new AnswerTooLargeError(
      'Cannot prepare the export: what it must note of so many records takes more memory than there is for one export; narrow the filters, or give connbook more memory',
    )
  }

  /** Call it when all but so many bytes is not needed any more. */
  reduceTo(bytes: number): void {
    this.#bytes = bytes
  }
}

/** Positions of records, by a bit each. */
export class PositionSet {
  readonly #bits: Uint8Array

  /** @param count Positions from 0 to below it. */
  constructor(count: number, notes: ExportNotes) {
    const bytes = Math.ceil(count / BITS_A_BYTE)
    notes.add(bytes)
    this.#bits = new Uint8Array(bytes)
  }

  /** @returns Whether it was there before. */
  add(position: number): boolean {
    const at = Math.floor(position / BITS_A_BYTE)
    const [bits, bit] = [this.#bits[at] ?? 0, 1 << (position % BITS_A_BYTE)]
    this.#bits[at] = bits | bit
    return (bits & bit) !== 0
  }

  has(position: number): boolean {
    return ((this.#bits[Math.floor(position / BITS_A_BYTE)] ?? 0) & (1 << (position % BITS_A_BYTE))) !== 0
  }
}

/**
 * Texts, in little memory: one that was added is there, and some others seem to be (B. H. Bloom, "Space/Time Trade-offs in
 * Hash Coding with Allowable Errors", 1970, with a single hash).
 */
export class TextFilter {
  readonly #positions: PositionSet
  readonly #size: number

  /** @param count Texts that are expected, about. */
  constructor(count: number, notes: ExportNotes) {
    this.#size = Math.max(1, count) * BITS_A_TEXT
    this.#positions = new PositionSet(this.#size, notes)
  }

  /** @returns Whether it seemed to be there before. */
  add(text: string): boolean {
    return this.#positions.add(hashOfText(text) % this.#size)
  }

  mayHave(text: string): boolean {
    return this.#positions.has(hashOfText(text) % this.#size)
  }
}
