import type { Chooser, SurvivingParts } from './chooser.ts'

type ContentChange =
  | { readonly offset: number; readonly bytes: Buffer; state: ChangeState }
  | { readonly length: number; state: ChangeState }

/** Lost: a sync failed, so no later sync brings the change to disk; after a crash it may be there or not. */
type ChangeState = 'unsynced' | 'lost' | 'durable'

/** The content of one file, whatever its names: as programs see it, and as it is on disk. */
export class Inode {
  /** Never changed in place. */
  #visible: Buffer
  /** What is certainly on disk, without `#changes`. */
  #base: Buffer
  #changes: ContentChange[] = []

  /** @param durable What is on disk from the start. */
  constructor(durable: Buffer = Buffer.alloc(0)) {
    this.#visible = durable
    this.#base = durable
  }

  get content(): Buffer {
    return this.#visible
  }

  get isDurable(): boolean {
    return this.#changes.length === 0
  }

  write(offset: number, bytes: Uint8Array): void {
    const change = { offset, bytes: Buffer.from(bytes), state: 'unsynced' as const }
    this.#visible = withParts(this.#visible, change, { ranges: [[0, bytes.length]], isSizeKept: true })
    this.#changes.push(change)
  }

  truncate(length: number): void {
    this.#visible = withLength(this.#visible, length)
    this.#changes.push({ length, state: 'unsynced' })
  }

  sync(): void {
    for (const change of this.#changes) if (change.state === 'unsynced') change.state = 'durable'
    while (this.#changes[0]?.state === 'durable') {
      const change = this.#changes.shift()
      if (change !== undefined) this.#base = withChange(this.#base, change)
    }
  }

  failSync(): void {
    for (const change of this.#changes) if (change.state === 'unsynced') change.state = 'lost'
  }

  /** The content that a power loss now may leave. */
  surviving(choose: Chooser): Buffer {
    let content = this.#base
    for (const change of this.#changes) {
      if (change.state === 'durable') content = withChange(content, change)
      else if ('length' in change) content = choose.keepsChange() ? withChange(content, change) : content
      else content = withParts(content, change, choose.partsOfWrite(change.offset, change.bytes.length))
    }
    return content
  }
}

function withChange(content: Buffer, change: ContentChange): Buffer {
  if ('length' in change) return withLength(content, change.length)
  return withParts(content, change, { ranges: [[0, change.bytes.length]], isSizeKept: true })
}

function withParts(
  content: Buffer,
  { offset, bytes }: { readonly offset: number; readonly bytes: Buffer },
  { ranges, isSizeKept }: SurvivingParts,
): Buffer {
  const end = isSizeKept ? bytes.length : Math.max(0, ...ranges.map((range) => range[1]))
  if (end === 0) return content
  const changed = Buffer.alloc(Math.max(content.length, offset + end))
  content.copy(changed)
  for (const [start, stop] of ranges) bytes.copy(changed, offset + start, start, stop)
  return changed
}

function withLength(content: Buffer, length: number): Buffer {
  if (length <= content.length) return content.subarray(0, length)
  return Buffer.concat([content], length)
}
