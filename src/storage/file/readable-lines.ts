import { ifPresent, systemCode } from '../../errors.ts'
import type { FileSystem, OpenFile } from '../../files/file-system.ts'
import { forEachLine } from '../../files/lines.ts'

/** Above it, a number is damage; leaves room for the next ids and revisions. */
export const STORED_NUMBER_MAX = 10 ** 15

/** Whether a number that was read can be an id or a revision. */
export function isPlausible(input: unknown): input is number {
  return Number.isSafeInteger(input) && (input as number) >= 0 && (input as number) <= STORED_NUMBER_MAX
}

/** Opens a file and visits what can be read of it. @returns false if it is absent, or cannot be opened (EIO). */
export async function readTolerantly(
  path: string,
  files: FileSystem,
  read: (file: OpenFile) => Promise<void>,
): Promise<boolean> {
  const file = await ifPresent(files.open(path, 'r'), ['ENOENT', 'EIO'])
  if (file === undefined) return false
  try {
    await read(file)
    return true
  } finally {
    await file.close()
  }
}

/** Visits the lines before the first block that the disk cannot read (EIO). */
export async function forEachReadableLine(
  file: OpenFile,
  visit: (line: Buffer, offset: number) => void,
): Promise<void> {
  await forEachLine(file, visit).catch((error: unknown) => {
    if (systemCode(error) !== 'EIO') throw error
  })
}

/** The highest id that a damaged line names; 0 if it names none. */
export function highestIdIn(line: Buffer): number {
  let highest = 0
  // In a text, a quote has a backslash before it.
  for (const [, digits] of line.toString('latin1').matchAll(/"id":(\d{1,15})\b/g))
    highest = Math.max(highest, Number(digits))
  return highest
}
