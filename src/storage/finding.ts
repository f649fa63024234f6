import { DamagedFileError, NewerFormError, RESTORE_ADVICE, systemCode } from '../errors.ts'
import { counted } from '../text.ts'

/** What is to be said of one stored file. */
export interface Finding {
  readonly name: string
  readonly words: string
  /** Whether the file is missing, or is not what was written; then `words` tell where, why, and what to do. */
  readonly isDamage: boolean
  /** Whether it is as a newer connbook wrote it; then it counts as damage here, and is none. */
  readonly isNewer?: boolean
}

/** @param describe Gives the words for a file; undefined when it is absent and may be. */
export async function examine(name: string, describe: () => Promise<string | undefined>): Promise<Finding[]> {
  try {
    const words = await describe()
    return words === undefined ? [] : [{ name, words, isDamage: false }]
  } catch (error) {
    const { words, isNewer } = asDamage(error)
    return [{ name, words, isDamage: true, isNewer }]
  }
}

/** The damaged file and what to say of it; throws any other error. A disk that cannot read is as bad as damage. */
export function asDamage(error: unknown): { path: string; words: string; isNewer: boolean } {
  const isUnreadable = systemCode(error) === 'EIO'
  if (!(error instanceof Error && 'path' in error && typeof error.path === 'string')) throw error
  if (!(error instanceof DamagedFileError) && !isUnreadable) throw error
  const words = isUnreadable ? `${error.message}; ${RESTORE_ADVICE}` : error.message
  return { path: error.path, words, isNewer: error.cause instanceof NewerFormError }
}

/** Words for the torn tail of a journal. */
export function describeTail({ tornBytes }: { readonly tornBytes: number }): string {
  if (tornBytes === 0) return ''
  return `; then ${counted(tornBytes, 'byte')} of a change that is just being written, or that a crash cut off`
}
