import type { ExportSummary } from '../exchange/export.ts'
import type { ExportFormatName } from '../exchange/export-formats.ts'
import { SUMMARY_KEPT_BYTES_MAX } from '../limits.ts'

interface Known {
  readonly tag: string
  readonly revision: number
  readonly summary: ExportSummary | WeakRef<ExportSummary>
}

/**
 * The last summary of each format: those who ask again before a change do not wait, and share its memory. A large one is
 * shared while an export still needs it, and then forgotten.
 */
export class ExportSummaries {
  readonly #known = new Map<ExportFormatName, Known>()

  find(format: ExportFormatName, tag: string): ExportSummary | undefined {
    const known = this.#known.get(format)
    if (known?.tag !== tag) return undefined
    return known.summary instanceof WeakRef ? known.summary.deref() : known.summary
  }

  /** @returns The summary to use: another caller may have made it meanwhile. */
  keep(
    format: ExportFormatName,
    { tag, revision }: { readonly tag: string; readonly revision: number },
    made: ExportSummary,
  ): ExportSummary {
    const known = this.find(format, tag)
    if (known !== undefined) return known
    const newest = this.#known.get(format)?.revision ?? 0
    if (revision < newest) return made
    const summary = made.notedBytes > SUMMARY_KEPT_BYTES_MAX ? new WeakRef(made) : made
    this.#known.set(format, { tag, revision, summary })
    return made
  }
}
