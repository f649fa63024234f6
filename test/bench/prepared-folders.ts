import { fieldsOf, fillFolder, newPath } from './data-folders.ts'
import { startConnbook } from './servers.ts'

export const FEW = 1_000
export const MANY = 100_000
export const MOST = 1_000_000

/** As people write it: 1,000,000. */
export function countText(count: number): string {
  return count.toLocaleString('en')
}

/**
 * A data folder with `record-1` and so on.
 *
 * @param workshop A folder for data folders, on the disk that is to be measured.
 * @param makeFields What the records have, by their id.
 */
export async function prepareFolder(
  workshop: string,
  count: number,
  makeFields: typeof fieldsOf = fieldsOf,
): Promise<string> {
  const folder = await newPath(workshop)
  {
    await using _firstStart = await startConnbook(folder)
  }
  await fillFolder(folder, count, makeFields)
  return folder
}
