const LINES_BYTES = 128 * 1024
const SPACE = 0x20

/** Lines that are put together as bytes, most of which are copied from an answer. */
export class Lines {
  #bytes = Buffer.allocUnsafe(LINES_BYTES)
  #length = 0

  /** How many bytes there are. */
  get length(): number {
    return this.#length
  }

  byte(byte: number): void {
    this.#reserve(1)
    this.#bytes[this.#length++] = byte
  }

  copy(from: Uint8Array, start: number, end: number): void {
    this.#reserve(end - start)
    const bytes = this.#bytes
    let length = this.#length
    // Most parts are short: then a loop is faster than a call of the system's copy.
    for (let at = start; at < end; at++) bytes[length++] = from[at] ?? 0
    this.#length = length
  }

  text(text: string): void {
    this.#reserve(Buffer.byteLength(text))
    this.#length += this.#bytes.write(text, this.#length)
  }

  /** Adds spaces until there are so many bytes. */
  padTo(length: number): void {
    this.#reserve(length - this.#length)
    while (this.#length < length) this.#bytes[this.#length++] = SPACE
  }

  /** Removes what is behind so many bytes, and then spaces at the end; no more than to `start`. */
  cutTo(length: number, start: number): void {
    this.#length = Math.min(this.#length, length)
    while (this.#length > start && this.#bytes[this.#length - 1] === SPACE) this.#length -= 1
  }

  /** Everything so far, which the next line overwrites; then it is empty. */
  take(): Uint8Array {
    const taken = this.#bytes.subarray(0, this.#length)
    this.#length = 0
    return taken
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(2 * (this.#length + bytes))
    larger.set(this.#bytes.subarray(0, this.#length))
    this.#bytes = larger
  }
}
