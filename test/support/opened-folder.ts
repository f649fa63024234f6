import { type DataFolder, openDataFolder } from '../../src/files/data-folder.ts'
import { type Lifetime, temporaryFolder } from './temporary-folder.ts'

/** A new data folder that this process owns until the test ends. */
export async function openedFolder(t: Lifetime): Promise<DataFolder> {
  const folder = await openDataFolder(await temporaryFolder(t))
  t.after(() => folder.release())
  return folder
}
