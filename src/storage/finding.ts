import { DamagedFileError, NewerFormError, RESTORE_ADVICE, systemCode } from '../errors.ts'
import { counted } from '../text.ts'

export interface Finding {
  readonly name: string
  readonly words: string
  /** Whether the file is missing or damaged; then `words` say where, why, and what to do. */
  readonly isDamage: boolean
  /** Whether a newer connbook wrote the file; it then also counts as damage. */
  readonly isNewer?: boolean
}

/** @param describe Gives the words for a file; undefined when it may be absent, and is. */
export async function examine(name: string, describe: () => Promise<string | undefined>): Promise<Finding[]> {
  try {
    const words = await describe()
    return words === undefined ? [] : [{ name, words, isDamage: false }]
  } catch (error) {
    const { words, isNewer } = asDamage(error)
    return [{ name, words, isDamage: true, isNewer }]
  }
}

/** Path and words for a damaged or unreadable (EIO) file; throws any other error. */
export function asDamage(error: unknown): { path: string; words: string; isNewer: boolean } {
  const isUnreadable = systemCode(error) === 'EIO'
  if (!(error instanceof Error && 'path' in error && typeof error.path === 'string')) throw error
  if (!(error instanceof DamagedFileError) && !isUnreadable) throw error
  const words = isUnreadable ? `${error.message}; ${RESTORE_ADVICE}` : error.message
  return { path: error.path, words, isNewer: error.cause instanceof NewerFormError }
}

export function describeTail({ tornBytes }: { readonly tornBytes: number }): string {
  if (tornBytes === 0) return ''
  return `; then ${counted(tornBytes, 'byte')} of a change that is just being written, or that a crash cut off`
}
