import assert from 'node:assert/strict'
import { copyFile, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { dataFiles } from '../../src/files/data-folder.ts'
import { createFailingFiles } from '../support/failing-files.ts'
import { draft, names, openStore, someone } from '../support/store.ts'
import { type Lifetime, temporaryFolder } from '../support/temporary-folder.ts'

export const old = [draft('same'), draft('other', { port: 1 }), draft('left')]
export const file = [draft('new'), draft('other', { port: 2 }), draft('same'), draft('also new')]

/** A store with `old`. @param snapshotBytesMin As `openStore` takes it. */
export async function openFilled(t: Lifetime, snapshotBytesMin?: number) {
  const folder = await temporaryFolder(t)
  const files = createFailingFiles()
  const opened = await openStore(t, folder, { files, snapshotBytesMin })
  for (const one of old) await opened.store.add(someone, one)
  return { ...opened, folder, files }
}

/**
 * Asserts that an import is restored completely or not at all when its frame is cut.
 *
 * @param step Bytes from one cut to the next; the last three bytes are all tried.
 */
export async function assertRestoredWhole(t: Lifetime, step: number): Promise<void> {
  const { store, folder, close } = await openFilled(t)
  const journal = join(folder, dataFiles.journal)
  const start = (await stat(journal)).size
  await store.importAll(someone, file, 'replace')
  await close()
  const end = (await stat(journal)).size
  const whole = join(folder, 'whole')
  await copyFile(journal, whole)
  for (let size = end; size >= start; size -= size > end - 3 ? 1 : step) {
    await copyFile(whole, journal)
    await truncate(journal, size)
    const opened = await openStore(t, folder)
    const shown = size === end ? ['same', 'other', 'new', 'also new'] : ['same', 'other', 'left']
    assert.deepEqual(names(opened.store), shown, `cut at ${size} of ${start} to ${end}`)
    assert.equal(opened.store.find('other')?.port, size === end ? 2 : 1)
    await opened.close()
  }
}
